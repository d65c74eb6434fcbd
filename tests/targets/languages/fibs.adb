--  SPDX-License-Identifier: MIT
--  Fib (10) is 177 calls.
procedure Fibs is
   function Fib (N : Integer) return Integer is
   begin
      if N < 2 then
         return N;
      end if;
      return Fib (N - 1) + Fib (N - 2);
   end Fib;
begin
   if Fib (10) /= 55 then
      raise Program_Error;
   end if;
end Fibs;
