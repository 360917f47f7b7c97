# SPDX-License-Identifier: BSD-3-Clause
#: visits  Shape.__init__ 30; Square.__init__ 20; Square.area 20; Shape.area 10; Shape.make 30; Shape.count 5
#: visits  Shape.size 80; Square.__add__ 19; Square.__call__ 4; Shape.__getattr__ 2; Shape.Inner.go 7
#: callers  Shape.__init__ by Square.__init__ 20; Shape.__init__ by Shape.make 10
class Shape:
    def __init__(self, side):
        self.side = side

    def area(self):
        return 0

    @classmethod
    def make(cls, side):
        return cls(side)

    @staticmethod
    def count(things):
        return len(things)

    @property
    def size(self):
        return self.side

    def __getattr__(self, name):
        raise AttributeError(name)

    class Inner:
        def go(self):
            return 1


class Square(Shape):
    def __init__(self, side):
        super().__init__(side)

    def area(self):
        return self.size * self.size

    def __add__(self, other):
        return Square.__new__(Square)

    def __call__(self):
        return 1


shapes = [Shape.make(1) for _ in range(10)] + [Square.make(n) for n in range(20)]
print(sum(s.area() for s in shapes), sum(s.size for s in shapes), sum(s.size for s in shapes[:-20]))
for s in shapes[10:-1]:
    s + s
print([shapes[-1]() for _ in range(4)], [Shape.count(shapes) for _ in range(5)], [Shape.Inner().go() for _ in range(7)])
print(hasattr(shapes[0], "a"), hasattr(shapes[1], "b"))
