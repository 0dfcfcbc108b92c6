// Ends in the ways of C++: a word on std::cerr and an abort, or an exception nobody may throw.
#include <cstdlib>
#include <iostream>
#include <new>
#include <stdexcept>

extern "C" void complain_cerr(const char *word) {
    std::cerr << word << std::endl;
    std::abort();
}

extern "C" void terminate_bad_alloc() noexcept {
    throw std::bad_alloc();
}

extern "C" void *terminate_new() noexcept {
    return ::operator new(std::size_t(1) << 60);
}

extern "C" void terminate_runtime_error() noexcept {
    throw std::runtime_error("boxes do not match");
}
