// What nearly every test includes, parsed once for each test program instead of once for each of
// its units.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <ranges>
#include <string>
#include <vector>
