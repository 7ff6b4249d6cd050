#pragma once

#include <basalt/basalt.h>

#include <array>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "basalt/device.hpp"
#include "basalt/kernel_arguments.hpp"
#include "basalt/loop.hpp"
#include "basalt/team.hpp"

namespace basalt::capi {

/// Where the view of an access is: in one of the ranges that submit() is given, one for each mode.
struct ViewPlace {
    basalt_access_mode mode;
    std::size_t position;      ///< in the mode's range
    std::size_t element_size;  ///< 0: a token, without elements
    bool rows_in_bytes;        ///< the view counts rows in bytes, and its strides anyway
};

/// Calls the task's release() when the last kernel that uses `user` is gone.
class UserData {
  public:
    explicit UserData(const basalt_task& task) : user_(task.user), release_(task.release) {}
    UserData(const UserData&) = delete;
    UserData& operator=(const UserData&) = delete;
    ~UserData() {
        if (owned_ && release_ != nullptr) release_(user_);
    }
    void* user() const { return user_; }
    void own() { owned_ = true; }
    void disown() { owned_ = false; }

  private:
    void* user_;
    void (*release_)(void*);
    bool owned_ = true;
};

/// What basalt_call::inside points to.
struct CallInside {
    const Team* team = nullptr;
    const Stream* stream = nullptr;
    std::string message{};
};

/// The views in the order of the accesses. A few of them take no memory of their own.
class CallViews {
  public:
    CallViews(const std::vector<ViewPlace>& places, Views<const std::byte> read, Views<std::byte> write,
              Views<std::byte> readwrite, Views<std::byte> commute) {
        if (places.size() > few_.size()) many_.resize(places.size());
        views_ = many_.empty() ? few_.data() : many_.data();
        basalt_view* next = views_;
        for (const ViewPlace& place : places) {
            switch (place.mode) {
                case BASALT_READ: *next++ = converted(place, read); break;
                case BASALT_WRITE: *next++ = converted(place, write); break;
                case BASALT_READWRITE: *next++ = converted(place, readwrite); break;
                case BASALT_COMMUTE: *next++ = converted(place, commute); break;
            }
        }
    }
    CallViews(const CallViews&) = delete;
    CallViews& operator=(const CallViews&) = delete;
    ~CallViews() = default;

    const basalt_view* data() const { return views_; }

  private:
    template <class T>
    static basalt_view converted(const ViewPlace& place, const Views<T>& range) {
        if (place.element_size == 0) return {nullptr, 0, 0, 1, 1};
        const View<T>& view = range[place.position];
        const auto size = static_cast<Index>(place.element_size);
        void* const data = const_cast<std::remove_const_t<T>*>(view.data());
        if (place.rows_in_bytes) return {data, view.rows() / size, view.cols(), 1, view.col_stride() / size};
        return {data, view.rows(), view.cols(), view.row_stride() / size, view.col_stride() / size};
    }

    std::array<basalt_view, 8> few_;
    std::vector<basalt_view> many_;
    basalt_view* views_ = nullptr;
};

/// A C kernel and the arguments of its calls. The runtime calls the last three members.
struct CKernel {
    basalt_kernel function;
    std::shared_ptr<UserData> data;
    std::shared_ptr<const std::vector<ViewPlace>> places;

    /// Throws std::runtime_error where the kernel does not return 0.
    void call(CallInside inside, IndexRange chunk, const CallViews& views) const {
        basalt_call call{};
        call.views = views.data();
        call.count = places->size();
        call.user = data->user();
        call.size = 1;
        if (inside.team != nullptr) {
            call.rank = inside.team->rank();
            call.size = inside.team->size();
        }
        call.begin = chunk.begin;
        call.end = chunk.end;
        if (inside.stream != nullptr) {
            call.stream = inside.stream->native();
            call.gpu = inside.stream->device();
        }
        call.inside = &inside;
        const int outcome = function(&call);
        if (outcome == 0) return;
        throw std::runtime_error(inside.message.empty() ? "the kernel returned " + std::to_string(outcome)
                                                        : inside.message);
    }
};
struct CpuKernel : CKernel {
    void operator()(const Team& team, Views<const std::byte> r, Views<std::byte> w, Views<std::byte> rw,
                    Views<std::byte> c) const {
        call({.team = &team}, {}, CallViews(*places, r, w, rw, c));
    }
};
struct ChunkKernel : CKernel {
    void operator()(IndexRange chunk, Views<const std::byte> r, Views<std::byte> w, Views<std::byte> rw,
                    Views<std::byte> c) const {
        call({}, chunk, CallViews(*places, r, w, rw, c));
    }
};
struct GpuKernel : CKernel {
    void operator()(Stream stream, Views<const std::byte> r, Views<std::byte> w, Views<std::byte> rw,
                    Views<std::byte> c) const {
        call({.stream = &stream}, {}, CallViews(*places, r, w, rw, c));
    }
};

}  // namespace basalt::capi
