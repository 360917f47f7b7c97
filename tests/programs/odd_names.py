# SPDX-License-Identifier: BSD-3-Clause
#: visits  größe 2; 函数 3; <lambda> 4; with space 5; tab\there 6; made:m 1
#: free  build
def größe():
    return 1


def 函数():
    return 2


def build(name, module="__main__"):
    def f():
        return name

    f.__code__ = f.__code__.replace(co_name=name, **({"co_qualname": name} if hasattr(f.__code__, "co_qualname") else {}))
    f.__globals__["__name__"] = "__main__"
    return f


anonymous = lambda: 3  # noqa: E731
spaced, tabbed = build("with space"), build("tab\there")
print([größe() for _ in range(2)], [函数() for _ in range(3)], [anonymous() for _ in range(4)])
print([spaced() for _ in range(5)], [tabbed() for _ in range(6)])
space = {"__name__": "made"}
exec("def m():\n    return 1", space)
print(space["m"](), [n.encode("utf-8", "backslashreplace") for n in ("\udc80",)])
