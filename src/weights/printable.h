// Where readers of weights find what makes the names in a file fit for an error message.
#pragma once

#include "core/printable.h"
