-- SPDX-License-Identifier: BSD-3-Clause
-- For Lmod: copy it to spartito/VERSION.lua below a directory of MODULEPATH. The README says how to install into `root`.
local root = pathJoin("/opt/spartito", myModuleVersion())

help([[Spartito measures Python programs: spartito run -- python solver.py
`spartito doctor` lists what works on this machine.
python is that of the virtual environment in ]] .. root .. [[.
In a virtual environment of yours, run `pip install spartito` instead.]])
whatis("Name: spartito")
whatis("Version: " .. myModuleVersion())
whatis("Category: tools, performance")
whatis("Description: call-path profiles, traces, samples, memory and waits of Python programs")
whatis("URL: https://pypi.org/project/spartito/")

conflict("spartito")
prepend_path("PATH", pathJoin(root, "bin"))
