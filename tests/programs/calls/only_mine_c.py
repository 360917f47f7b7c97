# SPDX-License-Identifier: BSD-3-Clause
#: hooks  monitoring setprofile
#: options  --only-mine --c-calls
#: visits  main 1; leaf 10
#: c-calls  builtins:<built-in method builtins.sorted> 10; <method 'append' of 'list' objects> 10
#: callers  builtins:<built-in method builtins.sorted> by leaf 10; <method 'append' of 'list' objects> by leaf 10
#: expect-none  fractions:Fraction.limit_denominator; builtins:<built-in method builtins.isinstance>
# C functions called by an excluded function are excluded, too, even while a recorded C function (sorted) runs below leaf.
import fractions


def leaf():
    found = []
    halves = [fractions.Fraction(3, 2), fractions.Fraction(1, 2)]
    found.append(sorted(halves, key=fractions.Fraction.limit_denominator))
    return found


def main():
    for _ in range(10):
        leaf()


main()
