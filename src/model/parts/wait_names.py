# SPDX-License-Identifier: BSD-3-Clause
"""Writes the patterns of functions in waitkinds.txt as a table in C: wait_names.py waitkinds.txt > wait_names.c"""

import json
import re
import sys

with open(sys.argv[1], encoding="utf-8") as f:
    lines = [line for line in f.read().splitlines() if line.strip() and not line.startswith("#")]
names = [name for line in lines for name in re.findall(r"<[^>]+>|\S+", re.split(" {2,}", line.strip(), maxsplit=1)[1])]
print('#include "model/parts/wait_names.h"\n\n#include <stddef.h>\n\nconst char *const sp_wait_names[] = {')
for name in names:
    print(f"    {json.dumps(name)},")
print("    NULL,\n};")
