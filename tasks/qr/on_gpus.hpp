#pragma once

#include "tasks/qr/options.hpp"
#include "tasks/qr/state.hpp"

namespace basalt::detail {

/// Submits the QR factorization of the modes hybrid and gpu: cores or GPUs factor panels, GPUs update the columns to
/// their right.
template <class T>
void submit_qr_on_gpus(QrState<T>& state, const QrChoices& choices);

}  // namespace basalt::detail
