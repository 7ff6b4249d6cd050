! Systems of equations and a task from Fortran.
module kernels
  use, intrinsic :: iso_c_binding
  use basalt
  implicit none
contains
  !> x = 2 x
  integer(c_int) function double_it(call) bind(c)
    type(basalt_call), intent(in) :: call
    type(basalt_view), pointer :: views(:)
    real(c_double), pointer :: x(:)
    call c_f_pointer(call%views, views, [call%count])
    call c_f_pointer(views(1)%data, x, [views(1)%rows])
    x = 2 * x
    double_it = 0
  end function
end module

program solve
  use, intrinsic :: iso_c_binding
  use basalt
  use kernels
  implicit none
  integer(c_int64_t), parameter :: n = 300
  real(c_double), target, allocatable :: a(:, :), b(:), x(:)
  integer(c_int64_t) :: pivots(n), info
  type(c_ptr) :: runtime

  allocate (a(n, n), b(n), x(n))
  call fill()
  call check(basalt_runtime_create(c_null_ptr, runtime))
  call in_one_call()
  call with_factors()
  call as_a_task()
  call basalt_runtime_destroy(runtime)
  if (basalt_wait(c_null_ptr) /= basalt_invalid_argument) error stop "a missing runtime is not refused"
  if (index(basalt_error_text(), "runtime is NULL") == 0) error stop "the error has no text"

contains

  subroutine check(status)
    integer(c_int), intent(in) :: status
    if (status /= basalt_ok) then
      print *, basalt_error_text()
      error stop "a call failed"
    end if
  end subroutine

  !> Symmetric, and its diagonal is larger than the rest of each row; b = A (1, 1, ...).
  subroutine fill()
    integer :: i, j
    do j = 1, int(n)
      do i = 1, int(n)
        a(i, j) = merge(real(n, c_double), 0.0_c_double, i == j) + 1.0_c_double / (1 + abs(i - j))
      end do
    end do
    b = sum(a, dim=2)
  end subroutine

  subroutine report(what)
    character(*), intent(in) :: what
    print "(a, es9.1)", what // ": largest error ", maxval(abs(x - 1))
    if (.not. maxval(abs(x - 1)) < 1e-10_c_double) error stop "the solution is wrong"
  end subroutine

  subroutine in_one_call()
    real(c_double), allocatable :: factors(:, :)
    factors = a
    x = b
    call check(basalt_dgesv(runtime, n, 1_c_int64_t, factors, n, pivots, x, n, info))
    if (info /= 0) error stop "the matrix is singular"
    call report("in one call")
  end subroutine

  subroutine with_factors()
    type(c_ptr) :: matrix, right, factors
    x = b
    call check(basalt_matrix_create(runtime, basalt_double, n, n, c_null_ptr, matrix))
    call check(basalt_matrix_create(runtime, basalt_double, n, 1_c_int64_t, c_null_ptr, right))
    call check(basalt_matrix_load(matrix, c_loc(a), 1_c_int64_t, n, basalt_any))
    call check(basalt_matrix_load(right, c_loc(x), 1_c_int64_t, n, basalt_any))
    call check(basalt_cholesky_factor(matrix, basalt_lower, c_null_ptr, factors))
    call check(basalt_factors_solve(factors, right))
    call check(basalt_matrix_store(right, c_loc(x), 1_c_int64_t, n, basalt_any))
    call check(basalt_wait(runtime))
    call check(basalt_factors_info(factors, info))
    if (info /= 0) error stop "the matrix is not positive definite"
    call basalt_factors_destroy(factors)
    call basalt_matrix_destroy(right)
    call basalt_matrix_destroy(matrix)
    call report("with factors")
  end subroutine

  subroutine as_a_task()
    type(basalt_access), target :: accesses(1)
    type(basalt_task) :: task
    type(c_ptr) :: array
    x = 0.5_c_double
    call check(basalt_array_wrap(runtime, c_loc(x), c_sizeof(x(1)), n, c_null_ptr, array))
    accesses(1) = basalt_access_to(array, basalt_readwrite)
    task%cpu = c_funloc(double_it)
    task%accesses = c_loc(accesses)
    task%access_count = 1
    call check(basalt_submit(runtime, task, c_null_ptr))
    call check(basalt_wait(runtime))
    call basalt_array_destroy(array)
    call report("as a task")
  end subroutine
end program
