// Tile QR on CPU cores: the loop nest.
#include "tasks/qr/by_tiles.hpp"

#include <algorithm>

namespace basalt::detail {

template <class T>
TileQrState<T>::TileQrState(QrState<T>& qr, const QrChoices& choices) {
    struct Shape {
        std::vector<TileReflection> reflections;
        Index inner, width, domains;
        Index elements() const {
            return aligned(domains * width * width) + aligned(std::ssize(reflections) * inner * width);
        }
    };
    std::vector<Shape> shapes;
    Index elements = 0;
    for (const Panel& p : qr.panels) {
        auto all = tile_reflections(p.first, qr.grid().rows(), p.width, qr.grid().shape().height, choices.domain_tiles);
        const Index heads = std::count_if(all.begin(), all.end(), [](const TileReflection& reflection) {
            return reflection.kind == TileReflection::Kind::head;
        });
        shapes.push_back({std::move(all), std::min(choices.inner_width, p.width), p.width, heads});
        elements += shapes.back().elements();
    }
    memory_ = HostBuffer(static_cast<std::size_t>(elements) * sizeof(T));
    T* next = static_cast<T*>(memory_.data());
    for (Shape& shape : shapes) {
        const Index triangles = shape.domains * shape.width, rows = std::ssize(shape.reflections) * shape.inner;
        T* const r = next;
        T* const t = r + aligned(triangles * shape.width);
        next += shape.elements();
        steps.push_back({std::move(shape.reflections), shape.inner,
                         ScratchMatrix<T>(qr.runtime, r, triangles, shape.width, "R"),
                         ScratchMatrix<T>(qr.runtime, t, rows, shape.width, "T")});
    }
}

namespace {

using Kind = TileReflection::Kind;

constexpr QrBelow below(Kind kind) { return kind == Kind::square ? QrBelow::square : QrBelow::triangle; }

/// The data of one step.
template <class T>
class StepData {
  public:
    StepData(const QrState<T>& state, int k)
        : state_(state),
          panel_(state.panels[static_cast<std::size_t>(k)]),
          step_(state.by_tiles->steps[static_cast<std::size_t>(k)]) {}

    const Panel& panel() const { return panel_; }
    const std::vector<TileReflection>& reflections() const { return step_.reflections; }
    Region<T> rows(Index begin, Index end) const { return state_.region(panel_, begin, end); }
    Region<T> r(int domain) const {
        return step_.r.rows(domain * panel_.width, (domain + 1) * panel_.width, panel_.width);
    }
    Region<T> t(std::size_t i) const {
        const auto first = static_cast<Index>(i) * step_.inner;
        return step_.t.rows(first, first + step_.inner, panel_.width);
    }
    Region<T> v(const TileReflection& x) const { return x.kind == Kind::triangle ? r(x.other) : rows(x.begin, x.end); }

  private:
    const QrState<T>& state_;
    const Panel& panel_;
    const TileQrStep<T>& step_;
};

template <class T>
class TileQrSubmission {
  public:
    TileQrSubmission(QrState<T>& state, const QrChoices& choices)
        : s_(state), rt_(state.runtime), priority_(state.panels.size(), choices.lookahead) {}

    void submit() {
        for (int k = 0; k < static_cast<int>(s_.panels.size()); ++k) {
            factor(k);
            s_.for_each_trailing(k, [&](Index tile_column, Index begin, Index end, int panels_ahead) {
                submit_tile_reflections(s_, k, Reflection::transposed, *s_.a, tile_column, begin, end,
                                        priority_.update(k, panels_ahead));
            });
            store_r(k);
        }
    }

  private:
    void factor(int k) {
        const StepData<T> data(s_, k);
        for (std::size_t i = 0; i < data.reflections().size(); ++i) factor(k, data, i);
    }

    /// Last, since the updates read V there.
    void store_r(int k) {
        const StepData<T> data(s_, k);
        const Panel& p = data.panel();
        rt_.submit({.name = "R", .tile = {k, k}, .step = k, .place = Place::cpu()}, read(data.r(0)),
                   readwrite(data.rows(p.first, p.end())), [](View<const T> r, View<T> a) {
                       for (Index i = 0; i < r.rows(); ++i) std::copy_n(&r(i, i), r.cols() - i, &a(i, i));
                   });
    }

    void factor(int k, const StepData<T>& data, std::size_t i) {
        const TileReflection& x = data.reflections()[i];
        const bool head = x.kind == Kind::head;
        const TaskOptions task{.name = head ? TaskName("geqrt") : TaskName("tpqrt"),
                               .priority = priority_.panel(k),
                               .tile = {k, static_cast<int>(i)},
                               .step = k,
                               .place = Place::cpu()};
        if (head) {
            rt_.submit(task, readwrite(data.v(x)), write(data.r(x.domain)), write(data.t(i)),
                       [](View<T> a, View<T> r, View<T> t) { geqrt<T>(a, r, t); });
        } else {
            rt_.submit(task, readwrite(data.r(x.domain)), readwrite(data.v(x)), write(data.t(i)),
                       [kind = below(x.kind)](View<T> r, View<T> b, View<T> t) { tpqrt<T>(kind, r, b, t); });
        }
    }

    QrState<T>& s_;
    Runtime& rt_;
    const StepPriorities priority_;
};

}  // namespace

template <class T>
void submit_tile_reflections(QrState<T>& state, int k, Reflection reflection, const MatrixStorage& c, Index j,
                             Index begin, Index end, int priority) {
    const StepData<T> data(state, k);
    const std::size_t count = data.reflections().size();
    for (std::size_t step = 0; step < count; ++step) {
        const std::size_t i = reflection == Reflection::transposed ? step : count - 1 - step;
        const TileReflection& x = data.reflections()[i];
        const auto rows = [&](Index from, Index to) { return c.template region<T>(j, from, to, begin, end); };
        const bool head = x.kind == Kind::head;
        const TaskOptions task{.name = head ? TaskName("gemqrt") : TaskName("tpmqrt"),
                               .priority = priority,
                               .tile = {k, static_cast<int>(i), static_cast<int>(j)},
                               .step = k,
                               .place = Place::cpu()};
        if (head) {
            state.runtime.submit(
                task, read(data.v(x)), read(data.t(i)), readwrite(rows(x.begin, x.end)),
                [reflection](View<const T> v, View<const T> t, View<T> block) { gemqrt<T>(reflection, v, t, block); });
        } else {
            state.runtime.submit(
                task, read(data.v(x)), read(data.t(i)), readwrite(rows(x.top, x.top + data.panel().width)),
                readwrite(rows(x.begin, x.end)),
                [reflection, kind = below(x.kind)](View<const T> v, View<const T> t, View<T> c1, View<T> c2) {
                    tpmqrt<T>(reflection, kind, v, t, c1, c2);
                });
        }
    }
}

template <class T>
void submit_qr_by_tiles(QrState<T>& state, const QrChoices& choices) {
    state.by_tiles = std::make_shared<TileQrState<T>>(state, choices);
    TileQrSubmission<T>(state, choices).submit();
}

template <class T>
StepFromRight<T>::StepFromRight(const QrState<T>& state, int k) {
    const StepData<T> data(state, k);
    const TileQrStep<T>& step = state.by_tiles->steps[static_cast<std::size_t>(k)];
    first_ = data.panel().first;
    width_ = data.panel().width;
    data_.read(data.rows(first_, state.grid().rows())).read(step.r.region()).read(step.t.region());
    for (std::size_t i = 0; i < step.reflections.size(); ++i) {
        placed_.push_back({step.reflections[i], data.v(step.reflections[i]), data.t(i)});
    }
}

template <class T>
void StepFromRight<T>::multiply(Reflection reflection, const DatumAddresses& at, View<T> c) const {
    if (reflection == Reflection::plain) {
        for (const Placed& placed : placed_) multiply(reflection, placed, at, c);
    } else {
        for (auto placed = placed_.rbegin(); placed != placed_.rend(); ++placed) multiply(reflection, *placed, at, c);
    }
}

template <class T>
void StepFromRight<T>::multiply(Reflection reflection, const Placed& placed, const DatumAddresses& at,
                                View<T> c) const {
    const TileReflection& x = placed.reflection;
    const View<const T> v = read(placed.v).view(x.kind == Kind::triangle ? at[1] : at[0]);
    const View<const T> t = read(placed.t).view(at[2]);
    const View<T> c2 = c.block(0, x.begin - first_, c.rows(), x.end - x.begin);
    if (x.kind == Kind::head) {
        gemqrt_right<T>(reflection, v, t, c2);
    } else {
        tpmqrt_right<T>(reflection, below(x.kind), v, t, c.block(0, x.top - first_, c.rows(), width_), c2);
    }
}

template struct TileQrState<float>;
template struct TileQrState<double>;
template void submit_qr_by_tiles(QrState<float>&, const QrChoices&);
template void submit_qr_by_tiles(QrState<double>&, const QrChoices&);
template void submit_tile_reflections(QrState<float>&, int, Reflection, const MatrixStorage&, Index, Index, Index, int);
template void submit_tile_reflections(QrState<double>&, int, Reflection, const MatrixStorage&, Index, Index, Index,
                                      int);
template class StepFromRight<float>;
template class StepFromRight<double>;

}  // namespace basalt::detail
