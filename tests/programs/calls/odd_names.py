# SPDX-License-Identifier: BSD-3-Clause
#: visits  größe 2; 函数 3; <lambda> 4; made:m 1
#: visits[3.9-3.10]  build.<locals>.f 11
#: visits[3.11-]  with space 5; tab\there 6
#: note  before 3.11 code objects have no qualified name: the function's qualified name is used
#: free  build
def größe():
    return 1


def 函数():
    return 2


def build(name, module="__main__"):
    def f():
        return name

    names = ["co_name", "co_qualname"] if hasattr(f.__code__, "co_qualname") else ["co_name"]
    f.__code__ = f.__code__.replace(**dict.fromkeys(names, name))
    f.__globals__["__name__"] = "__main__"
    return f


anonymous = lambda: 3
spaced, tabbed = build("with space"), build("tab\there")
print([größe() for _ in range(2)], [函数() for _ in range(3)], [anonymous() for _ in range(4)])
print([spaced() for _ in range(5)], [tabbed() for _ in range(6)])
space = {"__name__": "made"}
exec("def m():\n    return 1", space)
print(space["m"](), [n.encode("utf-8", "backslashreplace") for n in ("\udc80",)])
