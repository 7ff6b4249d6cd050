!> Basalt for Fortran 2008: the C interface of basalt/basalt.h, which describes every procedure, as a module.
!>
!> The functions return a status, which is basalt_ok or what basalt_error_text() explains. Objects are type(c_ptr):
!> c_null_ptr is none. Strings are passed with c_null_char at their end. Kernels of tasks are bind(c) functions.
module basalt
  use, intrinsic :: iso_c_binding
  implicit none
  private :: c_length

  integer, parameter :: basalt_status = c_int
  integer(c_int), parameter :: basalt_ok = 0, basalt_invalid_argument = 1, basalt_out_of_memory = 2, &
      basalt_task_failed = 3, basalt_no_contents = 4, basalt_predecessor_failed = 5, basalt_device_failed = 6, &
      basalt_cancelled_status = 7, basalt_timed_out = 8, basalt_failed = 9
  integer(c_int), parameter :: basalt_any = 0, basalt_cpu = 1
  integer(c_int), parameter :: basalt_float = 0, basalt_double = 1
  integer(c_int), parameter :: basalt_lower = 0, basalt_upper = 1
  integer(c_int), parameter :: basalt_left = 0, basalt_right = 1
  integer(c_int), parameter :: basalt_plain = 0, basalt_transposed = 1
  integer(c_int), parameter :: basalt_mode_automatic = 0, basalt_mode_cpu = 1, basalt_mode_hybrid = 2, basalt_mode_gpu = 3
  integer(c_int), parameter :: basalt_read = 0, basalt_write = 1, basalt_readwrite = 2, basalt_commute = 3

  type, bind(c) :: basalt_factor_options
    integer(c_int) :: mode = basalt_mode_automatic
    integer(c_int64_t) :: panel_width = 0
    integer(c_int) :: panel_threads = 0
    logical(c_bool) :: plain_products = .false.
    logical(c_bool) :: tf32 = .false.
  end type

  !> What a task does to an array; made by basalt_access_to().
  type, bind(c) :: basalt_access
    type(c_ptr) :: array = c_null_ptr
    type(c_ptr) :: matrix = c_null_ptr
    integer(c_int) :: mode = basalt_read
    logical(c_bool) :: is_part = .false.
    integer(c_int64_t) :: row = 0, col = 0, rows = 0, cols = 0
  end type

  !> Elements that a kernel may use; c_f_pointer(view%data, x, [view%rows]) makes them an array.
  type, bind(c) :: basalt_view
    type(c_ptr) :: data
    integer(c_int64_t) :: rows, cols, row_stride, col_stride
  end type

  !> What a kernel gets: integer(c_int) function kernel(call) bind(c) with type(basalt_call), intent(in) :: call.
  type, bind(c) :: basalt_call
    type(c_ptr) :: views
    integer(c_size_t) :: count
    type(c_ptr) :: user
    integer(c_int) :: rank, size
    integer(c_int64_t) :: begin, end
    type(c_ptr) :: stream
    integer(c_int) :: gpu
    type(c_ptr) :: inside
  end type

  type, bind(c) :: basalt_handle
    integer(c_int64_t) :: inside(4) = 0
  end type

  type, bind(c) :: basalt_task
    type(c_ptr) :: name = c_null_ptr
    type(c_funptr) :: cpu = c_null_funptr
    type(c_funptr) :: cuda = c_null_funptr
    type(c_ptr) :: user = c_null_ptr
    type(c_funptr) :: release = c_null_funptr
    type(c_ptr) :: accesses = c_null_ptr
    integer(c_size_t) :: access_count = 0
    type(c_ptr) :: after = c_null_ptr
    integer(c_size_t) :: after_count = 0
    integer(c_int) :: priority = 0
    integer(c_int) :: min_threads = 0, max_threads = 0
    integer(c_int) :: place = basalt_any
    integer(c_int64_t) :: size = 0
  end type

  interface
    function basalt_error_message() bind(c) result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function
    function basalt_version_number() bind(c) result(number)
      import :: c_int
      integer(c_int) :: number
    end function

    function basalt_settings_create(settings) bind(c) result(status)
      import :: c_ptr, c_int
      type(c_ptr), intent(out) :: settings
      integer(c_int) :: status
    end function
    subroutine basalt_settings_destroy(settings) bind(c)
      import :: c_ptr
      type(c_ptr), value :: settings
    end subroutine
    function basalt_settings_set(settings, name, text) bind(c) result(status)
      import :: c_ptr, c_int, c_char
      type(c_ptr), value :: settings
      character(kind=c_char), intent(in) :: name(*), text(*)
      integer(c_int) :: status
    end function

    !> settings: c_null_ptr for those of the environment.
    function basalt_runtime_create(settings, runtime) bind(c) result(status)
      import :: c_ptr, c_int
      type(c_ptr), value :: settings
      type(c_ptr), intent(out) :: runtime
      integer(c_int) :: status
    end function
    subroutine basalt_runtime_destroy(runtime) bind(c)
      import :: c_ptr
      type(c_ptr), value :: runtime
    end subroutine
    function basalt_runtime_workers(runtime) bind(c) result(workers)
      import :: c_ptr, c_int
      type(c_ptr), value :: runtime
      integer(c_int) :: workers
    end function
    function basalt_runtime_gpus(runtime) bind(c) result(gpus)
      import :: c_ptr, c_int
      type(c_ptr), value :: runtime
      integer(c_int) :: gpus
    end function
    function basalt_wait(runtime) bind(c) result(status)
      import :: c_ptr, c_int
      type(c_ptr), value :: runtime
      integer(c_int) :: status
    end function
    function basalt_cancel(runtime) bind(c) result(status)
      import :: c_ptr, c_int
      type(c_ptr), value :: runtime
      integer(c_int) :: status
    end function

    !> pivots: n numbers. For the others see basalt.h.
    function basalt_dgesv(runtime, n, nrhs, a, lda, pivots, b, ldb, info) bind(c) result(status)
      import :: c_ptr, c_int, c_int64_t, c_double
      type(c_ptr), value :: runtime
      integer(c_int64_t), value :: n, nrhs, lda, ldb
      real(c_double), intent(inout) :: a(*), b(*)
      integer(c_int64_t), intent(out) :: pivots(*), info
      integer(c_int) :: status
    end function
    function basalt_sgesv(runtime, n, nrhs, a, lda, pivots, b, ldb, info) bind(c) result(status)
      import :: c_ptr, c_int, c_int64_t, c_float
      type(c_ptr), value :: runtime
      integer(c_int64_t), value :: n, nrhs, lda, ldb
      real(c_float), intent(inout) :: a(*), b(*)
      integer(c_int64_t), intent(out) :: pivots(*), info
      integer(c_int) :: status
    end function
    !> Factors of single precision, refined to double. iterations: LAPACK's ITER.
    function basalt_dsgesv(runtime, n, nrhs, a, lda, pivots, b, ldb, x, ldx, iterations, info) bind(c) result(status)
      import :: c_ptr, c_int, c_int64_t, c_double
      type(c_ptr), value :: runtime
      integer(c_int64_t), value :: n, nrhs, lda, ldb, ldx
      real(c_double), intent(inout) :: a(*), x(*)
      real(c_double), intent(in) :: b(*)
      integer(c_int64_t), intent(inout) :: pivots(*)
      integer(c_int64_t), intent(out) :: iterations, info
      integer(c_int) :: status
    end function
    function basalt_dsposv(runtime, triangle, n, nrhs, a, lda, b, ldb, x, ldx, iterations, info) bind(c) result(status)
      import :: c_ptr, c_int, c_int64_t, c_double
      type(c_ptr), value :: runtime
      integer(c_int), value :: triangle
      integer(c_int64_t), value :: n, nrhs, lda, ldb, ldx
      real(c_double), intent(inout) :: a(*), x(*)
      real(c_double), intent(in) :: b(*)
      integer(c_int64_t), intent(out) :: iterations, info
      integer(c_int) :: status
    end function
    function basalt_dpotrf(runtime, triangle, n, a, lda, info) bind(c) result(status)
      import :: c_ptr, c_int, c_int64_t, c_double
      type(c_ptr), value :: runtime
      integer(c_int), value :: triangle
      integer(c_int64_t), value :: n, lda
      real(c_double), intent(inout) :: a(*)
      integer(c_int64_t), intent(out) :: info
      integer(c_int) :: status
    end function
    function basalt_dposv(runtime, triangle, n, nrhs, a, lda, b, ldb, info) bind(c) result(status)
      import :: c_ptr, c_int, c_int64_t, c_double
      type(c_ptr), value :: runtime
      integer(c_int), value :: triangle
      integer(c_int64_t), value :: n, nrhs, lda, ldb
      real(c_double), intent(inout) :: a(*), b(*)
      integer(c_int64_t), intent(out) :: info
      integer(c_int) :: status
    end function
    function basalt_dgels(runtime, m, n, nrhs, a, lda, b, ldb, info) bind(c) result(status)
      import :: c_ptr, c_int, c_int64_t, c_double
      type(c_ptr), value :: runtime
      integer(c_int64_t), value :: m, n, nrhs, lda, ldb
      real(c_double), intent(inout) :: a(*), b(*)
      integer(c_int64_t), intent(out) :: info
      integer(c_int) :: status
    end function
    function basalt_dgeqrf(runtime, m, n, a, lda, tau) bind(c) result(status)
      import :: c_ptr, c_int, c_int64_t, c_double
      type(c_ptr), value :: runtime
      integer(c_int64_t), value :: m, n, lda
      real(c_double), intent(inout) :: a(*)
      real(c_double), intent(out) :: tau(*)
      integer(c_int) :: status
    end function

    !> options: c_null_ptr for the library's choice.
    function basalt_matrix_create(runtime, kind, m, n, options, matrix) bind(c) result(status)
      import :: c_ptr, c_int, c_int64_t
      type(c_ptr), value :: runtime, options
      integer(c_int), value :: kind
      integer(c_int64_t), value :: m, n
      type(c_ptr), intent(out) :: matrix
      integer(c_int) :: status
    end function
    subroutine basalt_matrix_destroy(matrix) bind(c)
      import :: c_ptr
      type(c_ptr), value :: matrix
    end subroutine
    !> a: c_loc() of the array, which stays valid until basalt_wait().
    function basalt_matrix_load(matrix, a, row_stride, col_stride, place) bind(c) result(status)
      import :: c_ptr, c_int, c_int64_t
      type(c_ptr), value :: matrix, a
      integer(c_int64_t), value :: row_stride, col_stride
      integer(c_int), value :: place
      integer(c_int) :: status
    end function
    function basalt_matrix_store(matrix, a, row_stride, col_stride, place) bind(c) result(status)
      import :: c_ptr, c_int, c_int64_t
      type(c_ptr), value :: matrix, a
      integer(c_int64_t), value :: row_stride, col_stride
      integer(c_int), value :: place
      integer(c_int) :: status
    end function

    !> options: c_null_ptr, or c_loc() of a basalt_factor_options.
    function basalt_lu_factor(a, options, factors) bind(c) result(status)
      import :: c_ptr, c_int
      type(c_ptr), value :: a, options
      type(c_ptr), intent(out) :: factors
      integer(c_int) :: status
    end function
    function basalt_cholesky_factor(a, triangle, options, factors) bind(c) result(status)
      import :: c_ptr, c_int
      type(c_ptr), value :: a, options
      integer(c_int), value :: triangle
      type(c_ptr), intent(out) :: factors
      integer(c_int) :: status
    end function
    function basalt_qr_factor(a, options, factors) bind(c) result(status)
      import :: c_ptr, c_int
      type(c_ptr), value :: a, options
      type(c_ptr), intent(out) :: factors
      integer(c_int) :: status
    end function
    subroutine basalt_factors_destroy(factors) bind(c)
      import :: c_ptr
      type(c_ptr), value :: factors
    end subroutine
    function basalt_factors_info(factors, info) bind(c) result(status)
      import :: c_ptr, c_int, c_int64_t
      type(c_ptr), value :: factors
      integer(c_int64_t), intent(out) :: info
      integer(c_int) :: status
    end function
    function basalt_factors_solve(factors, b) bind(c) result(status)
      import :: c_ptr, c_int
      type(c_ptr), value :: factors, b
      integer(c_int) :: status
    end function

    function basalt_array_wrap(runtime, data, element_size, size, name, array) bind(c) result(status)
      import :: c_ptr, c_int, c_int64_t, c_size_t
      type(c_ptr), value :: runtime, data, name
      integer(c_size_t), value :: element_size
      integer(c_int64_t), value :: size
      type(c_ptr), intent(out) :: array
      integer(c_int) :: status
    end function
    subroutine basalt_array_destroy(array) bind(c)
      import :: c_ptr
      type(c_ptr), value :: array
    end subroutine
    !> handle: c_null_ptr, or c_loc() of a basalt_handle.
    function basalt_submit(runtime, task, handle) bind(c) result(status)
      import :: c_ptr, c_int, basalt_task
      type(c_ptr), value :: runtime, handle
      type(basalt_task), intent(in) :: task
      integer(c_int) :: status
    end function
    function basalt_handle_wait(handle) bind(c) result(status)
      import :: c_int, basalt_handle
      type(basalt_handle), intent(in) :: handle
      integer(c_int) :: status
    end function
  end interface

  interface
    function c_length(text) bind(c, name="strlen") result(length)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function
  end interface

contains

  !> Why the calling thread's last call that failed did so.
  function basalt_error_text() result(text)
    character(:), allocatable :: text
    type(c_ptr) :: message
    character(kind=c_char), pointer :: characters(:)
    integer :: i
    message = basalt_error_message()
    call c_f_pointer(message, characters, [c_length(message)])
    allocate (character(size(characters)) :: text)
    do i = 1, size(characters)
      text(i:i) = characters(i)
    end do
  end function

  !> GPU number 0, 1, ... as a place.
  pure function basalt_gpu(number) result(place)
    integer, intent(in) :: number
    integer(c_int) :: place
    place = 2 + number
  end function

  !> All of an array in a mode such as basalt_readwrite.
  function basalt_access_to(array, mode) result(access)
    type(c_ptr), intent(in) :: array
    integer(c_int), intent(in) :: mode
    type(basalt_access) :: access
    access%array = array
    access%mode = mode
  end function
end module
