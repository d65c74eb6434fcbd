// SPDX-License-Identifier: MIT
// fib(10) is 177 calls; exceptions pass traced calls.
int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

class Base
{
	int call(int n)
	{
		return n + 1;
	}
}

class Derived : Base
{
	override int call(int n)
	{
		if (n % 2)
			throw new Exception("odd");
		return super.call(n);
	}
}

int main()
{
	Base b = new Derived;
	int caught;

	foreach (i; 0 .. 10)
	{
		try
		{
			b.call(i);
		}
		catch (Exception e)
		{
			caught++;
		}
	}
	return fib(10) == 55 && caught == 5 ? 0 : 1;
}
