#pragma once

// Everything a user of Basalt needs: #include <basalt/basalt.hpp>.

#include <basalt/team.hpp>
#include <basalt/version.hpp>
#include <basalt/view.hpp>
