// SPDX-License-Identifier: BSD-3-Clause
// A library for test_native.py, called through ctypes.
#include <algorithm>
#include <stdexcept>
#include <vector>

namespace solver
{
struct Grid {
	std::vector<double> cells;
	explicit Grid(int n) : cells(n)
	{
	}
	double step(int i);
	double step(double x);
};

double Grid::step(double x)
{
	if (x > 2)
		throw std::runtime_error("too large");
	return x;
}

double Grid::step(int i)
{
	return step(static_cast<double>(i));
}

template <typename T> T twice(T x)
{
	return x + x;
}
} // namespace solver

extern "C" double run(int n)
{
	solver::Grid grid(n);
	double sum = 0;
	for (int i = 0; i < n; i++) {
		try {
			sum += grid.step(i);
		} catch (const std::runtime_error &) {
			sum += solver::twice(1);
		}
	}
	std::sort(grid.cells.begin(), grid.cells.end());
	return sum;
}
