! SPDX-License-Identifier: MIT
! fib(10) is 177 calls.
recursive integer function fib(n) result(r)
  integer, intent(in) :: n
  if (n < 2) then
    r = n
  else
    r = fib(n - 1) + fib(n - 2)
  end if
end function

program main
  integer :: fib
  if (fib(10) /= 55) stop 1
end program
