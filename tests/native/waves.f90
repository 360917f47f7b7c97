! SPDX-License-Identifier: BSD-3-Clause
! A library for test_native.py, called through ctypes.
module waves
   use iso_c_binding
   implicit none
   real(c_double), volatile :: level = 0
contains
   subroutine advance(n)
      integer, intent(in) :: n
      integer :: i
      do i = 1, n
         call relax()
      end do
   contains
      subroutine relax()
         level = level + 0.6d0
      end subroutine
   end subroutine
end module

function run(n) bind(c) result(sum)
   use waves
   implicit none
   integer(c_int), value :: n
   real(c_double) :: sum
   level = 0
   call advance(n)
   sum = level
end function
