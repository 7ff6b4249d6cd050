#pragma once

/// Kernels on the device that a stream belongs to: the GPU kernel on a GPU, its CPU twin on an emulated device. Each is
/// declared once, here; kernels/cuda and kernels/cpu define it.
#include "kernels/on_stream/batch.hpp"
#include "kernels/on_stream/cholesky.hpp"
#include "kernels/on_stream/matrix.hpp"
#include "kernels/on_stream/panel.hpp"
#include "kernels/on_stream/products.hpp"
#include "kernels/on_stream/qr.hpp"
#include "kernels/on_stream/rows.hpp"
#include "kernels/on_stream/scaling.hpp"
#include "kernels/on_stream/triangle.hpp"
