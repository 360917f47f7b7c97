# SPDX-License-Identifier: BSD-3-Clause
#: options  --only-mine
#: visits  main 1; leaf 10
#: expect-none  json:dumps; json.encoder:JSONEncoder.encode
import json


def leaf(n):
    return json.dumps({"n": n})


def main():
    return [leaf(n) for n in range(10)]


print(main())
