#%Module1.0
# SPDX-License-Identifier: BSD-3-Clause
# For Environment Modules: copy it to spartito/VERSION below a directory of MODULEPATH. The README says how to install into `root`.
set version [file tail [module-info name]]
set root /opt/spartito/$version

proc ModulesHelp {} {
    global root
    puts stderr "Spartito measures Python programs: spartito run -- python solver.py"
    puts stderr "`spartito doctor` lists what works on this machine."
    puts stderr "python is that of the virtual environment in $root."
    puts stderr "In a virtual environment of yours, run `pip install spartito` instead."
}
module-whatis "Name: spartito"
module-whatis "Version: $version"
module-whatis "Category: tools, performance"
module-whatis "Description: call-path profiles, traces, samples, memory and waits of Python programs"
module-whatis "URL: https://pypi.org/project/spartito/"

conflict spartito
prepend-path PATH $root/bin
