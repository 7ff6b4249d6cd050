#pragma once

// Everything a user of Basalt needs: #include <basalt/basalt.hpp>.

#include <basalt/access.hpp>
#include <basalt/array.hpp>
#include <basalt/cholesky.hpp>
#include <basalt/config.hpp>
#include <basalt/cuda_info.hpp>
#include <basalt/deal.hpp>
#include <basalt/device.hpp>
#include <basalt/emulation.hpp>
#include <basalt/error.hpp>
#include <basalt/factor_mode.hpp>
#include <basalt/generator.hpp>
#include <basalt/graph.hpp>
#include <basalt/kernel_ops.hpp>
#include <basalt/lu.hpp>
#include <basalt/matrix.hpp>
#include <basalt/matrix_part.hpp>
#include <basalt/panel_design.hpp>
#include <basalt/products.hpp>
#include <basalt/qr.hpp>
#include <basalt/run_models.hpp>
#include <basalt/runtime.hpp>
#include <basalt/task_options.hpp>
#include <basalt/team.hpp>
#include <basalt/tile_shape.hpp>
#include <basalt/trace.hpp>
#include <basalt/triangle.hpp>
#include <basalt/tuning.hpp>
#include <basalt/version.hpp>
#include <basalt/view.hpp>
