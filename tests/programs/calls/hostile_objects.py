# SPDX-License-Identifier: BSD-3-Clause
#: visits  Hostile.method 5; Meta.__call__ 1; use 5
#: free  Hostile.__init__
# Measuring must not run any code of the program's objects.
class Meta(type):
    def __getattribute__(cls, name):
        if name in ("__name__", "__qualname__", "__module__"):
            log.append("meta " + name)
        return type.__getattribute__(cls, name)

    def __call__(cls, *args):
        return super().__call__(*args)


class Hostile(metaclass=Meta):
    def __init__(self):
        pass

    def __getattr__(self, name):
        log.append("getattr " + name)
        raise AttributeError(name)

    @property
    def __class__(self):
        log.append("class")
        return int

    def __repr__(self):
        log.append("repr")
        return "x"

    def __eq__(self, other):
        log.append("eq")
        return False

    def __hash__(self):
        log.append("hash")
        return 1

    def method(self):
        return 1


def use(thing):
    return thing.method()


log = []
thing = Hostile()
del log[:]
for _ in range(5):
    use(thing)
seen = list(log)
print(seen)
