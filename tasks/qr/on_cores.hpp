#pragma once

#include "tasks/qr/options.hpp"
#include "tasks/qr/state.hpp"

namespace basalt::detail {

/// Submits the QR factorization of mode cpu: blocked Householder QR, panels by gangs.
template <class T>
void submit_qr_on_cores(QrState<T>& state, const QrChoices& choices);

}  // namespace basalt::detail
