/* SPDX-License-Identifier: MIT */
/* As args.c, with what C++ has besides: `this`, references, classes by value, places of results. */
#include <cstddef>
#include <cstdio>
#include <string>

#define NOINLINE __attribute__((noinline))

static volatile int sink;

namespace shapes
{

enum class Kind : unsigned char { Round = 1, Flat = 200 };

struct Empty {
};

/* not trivial to copy: passed and returned by its address */
struct Heavy {
	int n;
	explicit Heavy(int n_) : n(n_)
	{
	}
	Heavy(const Heavy &o) : n(o.n)
	{
	}
	~Heavy()
	{
		sink = n;
	}
};

struct Point {
	int x, y;
};

class Shape
{
      public:
	explicit Shape(long sides) : sides_(sides)
	{
	}
	virtual ~Shape()
	{
	}
	virtual long area(int scale, bool exact);
	static Kind kind_of(Kind k, signed char c);
	long operator+(const Shape &o) const;
	Heavy heavy(int by);
	long sides_;
};

class Square : public Shape
{
      public:
	Square() : Shape(4)
	{
	}
	long area(int scale, bool exact) override;
};

NOINLINE long Shape::area(int scale, bool exact)
{
	return sides_ * scale + exact;
}

NOINLINE Kind Shape::kind_of(Kind k, signed char c)
{
	return c < 0 ? k : Kind::Round;
}

NOINLINE long Shape::operator+(const Shape &o) const
{
	return sides_ + o.sides_;
}

NOINLINE Heavy Shape::heavy(int by)
{
	return Heavy(static_cast<int>(sides_) * by);
}

NOINLINE long Square::area(int scale, bool exact)
{
	return 16 * scale + exact;
}

} // namespace shapes

using shapes::Heavy;
using shapes::Kind;
using shapes::Point;
using shapes::Shape;

NOINLINE int by_value(int before, Heavy h, int after)
{
	return before + h.n + after;
}

NOINLINE int &reference(int &r, int &&rr, const double &d)
{
	r += rr + static_cast<int>(d);
	return r;
}

NOINLINE int empty(shapes::Empty e, int after)
{
	(void)e;
	return after;
}

NOINLINE int member(int Point::*m, long (Shape::*f)(int, bool), std::nullptr_t, int last)
{
	sink = m == &Point::y;
	sink = f != nullptr;
	return last;
}

NOINLINE Point point(Point p, Kind k)
{
	return k == Kind::Flat ? Point{p.y, p.x} : p;
}

NOINLINE std::string text(const std::string &s, std::size_t n)
{
	return s.substr(n);
}

template <typename T> NOINLINE T largest(T a, T b)
{
	return a < b ? b : a;
}

NOINLINE void calls()
{
	shapes::Square square;
	Shape shape(3), *s = &square;
	int n = 5;
	std::string hello = "hello";

	sink = static_cast<int>(s->area(2, true));
	std::printf("area(this=%p, scale=2, exact=true) = 33\n", static_cast<void *>(s));
	sink = static_cast<int>(shape.area(-2, false));
	std::printf("area(this=%p, scale=-2, exact=false) = -6\n", static_cast<void *>(&shape));
	sink = static_cast<int>(Shape::kind_of(Kind::Flat, -7));
	std::printf("kind_of(k=Flat, c=-7) = Flat\n");
	sink = static_cast<int>(shape + square);
	std::printf("operator+(this=%p, o=%p) = 7\n", static_cast<void *>(&shape),
		    static_cast<void *>(&square));
	sink = shape.heavy(6).n;
	std::printf("heavy(this=%p, by=6) = POINTER\n", static_cast<void *>(&shape));
	sink = by_value(1, Heavy(10), 2);
	std::printf("by_value(before=1, h=POINTER, after=2) = 13\n");
	sink = reference(n, 7, 1.5);
	std::printf("reference(r=%p, rr=POINTER, d=POINTER) = %p\n", static_cast<void *>(&n),
		    static_cast<void *>(&n));
	sink = empty(shapes::Empty(), 9);
	std::printf("empty(e={}, after=9) = 9\n");
	sink = member(&Point::y, &Shape::area, nullptr, 3);
	std::printf("member(m=0x4, f={0x11, 0x0}, 0x0, last=3) = 3\n");
	sink = point(Point{1, -1}, Kind::Flat).x;
	std::printf("point(p={0xffffffff00000001}, k=Flat) = {0x1ffffffff}\n");
	sink = static_cast<int>(text(hello, 2).size());
	std::printf("text(s=%p, n=0x2) = POINTER\n", static_cast<void *>(&hello));
	sink = largest<int>(-1, 4);
	std::printf("largest(a=-1, b=4) = 4\n");
	sink = largest<char>('x', 'b');
	std::printf("largest(a='x', b='b') = 'x'\n");
	sink = [&n](int add) NOINLINE { return n + add; }(3);
	std::printf("operator()(ANY, add=3) = 16\n");
}

int main(int argc, char **argv)
{
	calls();
	std::fflush(stdout);
	if (argc > 1 && std::getchar() != EOF) {
		calls();
		std::fflush(stdout);
		std::getchar();
	}
	return 0;
}
