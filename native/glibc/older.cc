// Lets the shared libraries load with C libraries that are older than the one they are linked with: down to glibc 2.28.
//
// A linker binds every symbol to its newest version, also in the objects of the static libstdc++ and libgcc. A symbol
// listed with PIN is bound to its first version instead: cmake/SharedLibraries.cmake makes the linker redirect all its
// uses to __wrap_NAME, which is a jump, and drop the __wrap_NAME functions that nothing uses. Symbols that older C
// libraries lack are defined here, and these definitions are used with newer C libraries as well. scripts/check-natives
// finds symbols that are missing from this file.
//
// Up to glibc 2.33, some of the functions are in libpthread, libdl and librt. So each shared library of JCCL names
// those of the three that it needs as dependencies.
#include <features.h>

#if defined(__GLIBC__)

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>

#if defined(__x86_64__)
#define JCCL_FIRST_VERSION(version) "GLIBC_" version
#define JCCL_JUMP(symbol) "jmp *" symbol "@GOTPCREL(%rip)"
#elif defined(__aarch64__)
#define JCCL_FIRST_VERSION(version) "GLIBC_2.17"  // the first glibc for this processor
#define JCCL_JUMP(symbol) "b " symbol
#endif

// clang-format off
// `version` is the symbol's first version on x86-64.
#define PIN(name, version)                                                  \
  asm(".symver jccl_first_" #name "," #name "@" JCCL_FIRST_VERSION(version) \
      "\n.pushsection .text.pin." #name ",\"ax\",@progbits"                 \
      "\n.globl __wrap_" #name                                              \
      "\n.hidden __wrap_" #name                                             \
      "\n.type __wrap_" #name ", %function"                                 \
      "\n__wrap_" #name ": " JCCL_JUMP("jccl_first_" #name)                 \
      "\n.size __wrap_" #name ", .-__wrap_" #name                           \
      "\n.popsection")

PIN(__pthread_key_create, "2.2.5");
PIN(dladdr, "2.2.5");
PIN(dlclose, "2.2.5");
PIN(dlerror, "2.2.5");
PIN(dlopen, "2.2.5");
PIN(dlsym, "2.2.5");
PIN(pthread_create, "2.2.5");
PIN(pthread_detach, "2.2.5");
PIN(pthread_getname_np, "2.12");
PIN(pthread_join, "2.2.5");
PIN(pthread_mutex_trylock, "2.2.5");
PIN(pthread_once, "2.2.5");
PIN(pthread_setname_np, "2.12");
PIN(pthread_sigmask, "2.2.5");
// Used by the CUDA runtime, which libjccl_cuda.so contains.
PIN(dlmopen, "2.3.4");
PIN(dlvsym, "2.2.5");
PIN(pthread_condattr_setpshared, "2.2.5");
PIN(pthread_getspecific, "2.2.5");
PIN(pthread_key_create, "2.2.5");
PIN(pthread_key_delete, "2.2.5");
PIN(pthread_kill, "2.2.5");
PIN(pthread_mutexattr_destroy, "2.2.5");
PIN(pthread_mutexattr_init, "2.2.5");
PIN(pthread_mutexattr_setpshared, "2.2.5");
PIN(pthread_mutexattr_settype, "2.2.5");
PIN(pthread_rwlock_destroy, "2.2.5");
PIN(pthread_rwlock_init, "2.2.5");
PIN(pthread_rwlock_rdlock, "2.2.5");
PIN(pthread_rwlock_timedrdlock, "2.2.5");
PIN(pthread_rwlock_timedwrlock, "2.2.5");
PIN(pthread_rwlock_tryrdlock, "2.2.5");
PIN(pthread_rwlock_trywrlock, "2.2.5");
PIN(pthread_rwlock_unlock, "2.2.5");
PIN(pthread_rwlock_wrlock, "2.2.5");
PIN(pthread_rwlockattr_destroy, "2.2.5");
PIN(pthread_rwlockattr_init, "2.2.5");
PIN(pthread_rwlockattr_setpshared, "2.2.5");
PIN(pthread_setspecific, "2.2.5");
PIN(pthread_spin_destroy, "2.2.5");
PIN(pthread_spin_init, "2.2.5");
PIN(pthread_spin_lock, "2.2.5");
PIN(pthread_spin_trylock, "2.2.5");
PIN(pthread_spin_unlock, "2.2.5");
PIN(sem_destroy, "2.2.5");
PIN(sem_init, "2.2.5");
PIN(sem_post, "2.2.5");
PIN(sem_timedwait, "2.2.5");
PIN(sem_trywait, "2.2.5");
PIN(sem_wait, "2.2.5");
PIN(shm_open, "2.2.5");
PIN(shm_unlink, "2.2.5");
// clang-format on

extern "C" {

// glibc 2.32: nonzero if the process has only one thread, so that reference counts need no atomic instructions. A JVM
// always has several threads, so this must stay 0; nothing writes to it.
char __libc_single_threaded = 0;

// glibc 2.36, for std::random_device.
uint32_t arc4random() noexcept {
  uint32_t number = 0;
  ssize_t got;
  do {
    got = ::getrandom(&number, sizeof number, 0);
  } while (got < 0 && errno == EINTR);
  if (got == static_cast<ssize_t>(sizeof number)) return number;
  // A filter of system calls may refuse getrandom.
  const int file = ::open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  got = file < 0 ? -1 : ::read(file, &number, sizeof number);
  if (got != static_cast<ssize_t>(sizeof number)) std::abort();  // like the C library: the function cannot fail
  ::close(file);
  return number;
}

// glibc 2.33: the headers of earlier versions turn these calls into calls of other functions. The kernel and the C
// library have the same layout of struct stat.
int fstat(int descriptor, struct stat* status) noexcept {
  return static_cast<int>(::syscall(SYS_fstat, descriptor, status));
}
int fstat64(int descriptor, struct stat64* status) noexcept {
  return static_cast<int>(::syscall(SYS_fstat, descriptor, status));
}
int stat(const char* path, struct stat* status) noexcept {
  return static_cast<int>(::syscall(SYS_newfstatat, AT_FDCWD, path, status, 0));
}
int lstat(const char* path, struct stat* status) noexcept {
  return static_cast<int>(::syscall(SYS_newfstatat, AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW));
}

// glibc 2.38: its headers turn calls of strtol, sscanf, ... into calls of these functions, which accept the binary
// numbers of C23.
long jcclStrtol(const char* text, char** end, int base) noexcept asm("strtol");
unsigned long jcclStrtoul(const char* text, char** end, int base) noexcept asm("strtoul");
long long jcclStrtoll(const char* text, char** end, int base) noexcept asm("strtoll");
unsigned long long jcclStrtoull(const char* text, char** end, int base) noexcept asm("strtoull");
int jcclVsscanf(const char* text, const char* format, va_list arguments) noexcept asm("__isoc99_vsscanf");

long __isoc23_strtol(const char* text, char** end, int base) noexcept { return jcclStrtol(text, end, base); }
unsigned long __isoc23_strtoul(const char* text, char** end, int base) noexcept { return jcclStrtoul(text, end, base); }
long long __isoc23_strtoll(const char* text, char** end, int base) noexcept { return jcclStrtoll(text, end, base); }
unsigned long long __isoc23_strtoull(const char* text, char** end, int base) noexcept {
  return jcclStrtoull(text, end, base);
}
int __isoc23_sscanf(const char* text, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  const int read = jcclVsscanf(text, format, arguments);
  va_end(arguments);
  return read;
}

// glibc 2.35: finds the description of the stack frames of the object that contains an address. libgcc's unwinder calls
// only this function; without an answer, it assumes that the stack ends.
#if defined(DLFO_STRUCT_HAS_EH_DBASE)
int _dl_find_object(void* address, dl_find_object* result) noexcept {
  struct Search {
    uintptr_t address;
    dl_find_object* result;
  } search{reinterpret_cast<uintptr_t>(address), result};
  const auto visit = [](dl_phdr_info* object, size_t, void* argument) {
    const Search& search = *static_cast<Search*>(argument);
    const ElfW(Phdr)* frames = nullptr;
    bool inside = false;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const ElfW(Phdr)& part = object->dlpi_phdr[i];
      const uintptr_t begin = object->dlpi_addr + part.p_vaddr;
      if (part.p_type == PT_GNU_EH_FRAME) frames = &part;
      if (part.p_type == PT_LOAD && search.address - begin < part.p_memsz) inside = true;
    }
    if (!inside || frames == nullptr) return 0;
    *search.result = {};
    search.result->dlfo_eh_frame = reinterpret_cast<void*>(object->dlpi_addr + frames->p_vaddr);
    return 1;
  };
  return ::dl_iterate_phdr(visit, &search) == 1 ? 0 : -1;
}
#endif

}  // extern "C"

#endif
