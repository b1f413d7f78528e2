#include "crypto/crypto_library.h"

#include <dlfcn.h>

#include <algorithm>

namespace jccl::crypto {
namespace {

// Constants of OpenSSL's headers obj_mac.h and crypto.h.
constexpr int kX25519 = 1034;                          // NID_X25519
constexpr uint64_t kInitWithoutExitHandler = 0x80000;  // OPENSSL_INIT_NO_ATEXIT

// Newest first: OpenSSL 3, then 1.1.1, then the name that development packages have.
const std::string kNames[] = {"libcrypto.so.3", "libcrypto.so.1.1", "libcrypto.so"};

// Remedy for a library that is missing or lacks something.
constexpr const char* kRemedy = "; install OpenSSL 1.1.1 or later (Debian: libssl3, Red Hat: openssl-libs)";

std::string lastLoaderError() {
  const char* text = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps one error text per thread
  return text == nullptr ? "unknown" : text;
}

template <typename Function>
bool lookUp(void* handle, const char* name, Function* function, std::string* missing) {
  *function = reinterpret_cast<Function>(dlsym(handle, name));
  if (*function == nullptr && missing->empty()) *missing = name;
  return *function != nullptr;
}

}  // namespace

Status Library::open(std::shared_ptr<const Library>* library) { return open(kNames, std::size(kNames), library); }

Status Library::open(const std::string* names, size_t count, std::shared_ptr<const Library>* library) {
  std::string tried;
  for (size_t i = 0; i < count; ++i) {
    void* handle = dlopen(names[i].c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == nullptr) {
      tried += (tried.empty() ? "" : "; ") + lastLoaderError();
      continue;
    }
    auto opened = std::make_shared<Library>();
    Status usable = opened->find(handle);
    if (usable) usable = opened->check();
    if (!usable) {
      tried += (tried.empty() ? "" : "; ") + names[i] + ": " + usable.message();
      continue;
    }
    *library = std::move(opened);
    return Status::ok();
  }
  return {Code::System, "libcrypto cannot be used: " + tried + kRemedy};
}

Status Library::find(void* handle) {
  std::string missing;
  int (*init)(uint64_t, const void*) = nullptr;
  // Processes end while threads still use the library. Its exit handler would free what they use.
  if (lookUp(handle, "OPENSSL_init_crypto", &init, &missing)) init(kInitWithoutExitHandler, nullptr);
  lookUp(handle, "OpenSSL_version", &version_, &missing);
  lookUp(handle, "EVP_CIPHER_CTX_new", &newCipherContext, &missing);
  lookUp(handle, "EVP_CIPHER_CTX_free", &freeCipherContext, &missing);
  lookUp(handle, "EVP_aes_256_gcm", &aes256Gcm, &missing);
  lookUp(handle, "EVP_EncryptInit_ex", &encryptInit, &missing);
  lookUp(handle, "EVP_EncryptUpdate", &encryptUpdate, &missing);
  lookUp(handle, "EVP_EncryptFinal_ex", &encryptFinal, &missing);
  lookUp(handle, "EVP_DecryptInit_ex", &decryptInit, &missing);
  lookUp(handle, "EVP_DecryptUpdate", &decryptUpdate, &missing);
  lookUp(handle, "EVP_DecryptFinal_ex", &decryptFinal, &missing);
  lookUp(handle, "EVP_CIPHER_CTX_ctrl", &controlCipher, &missing);
  lookUp(handle, "EVP_PKEY_new_raw_private_key", &newPrivateKey_, &missing);
  lookUp(handle, "EVP_PKEY_new_raw_public_key", &newPublicKey_, &missing);
  lookUp(handle, "EVP_PKEY_get_raw_public_key", &publicKey_, &missing);
  lookUp(handle, "EVP_PKEY_free", &freeKey_, &missing);
  lookUp(handle, "EVP_PKEY_CTX_new", &newKeyContext_, &missing);
  lookUp(handle, "EVP_PKEY_CTX_free", &freeKeyContext_, &missing);
  lookUp(handle, "EVP_PKEY_derive_init", &deriveInit_, &missing);
  lookUp(handle, "EVP_PKEY_derive_set_peer", &deriveSetPeer_, &missing);
  lookUp(handle, "EVP_PKEY_derive", &derive_, &missing);
  lookUp(handle, "OPENSSL_cleanse", &cleanse_, &missing);
  lookUp(handle, "ERR_clear_error", &clearErrors_, &missing);
  return missing.empty() ? Status::ok() : Status(Code::System, "is older than OpenSSL 1.1.1: it has no " + missing);
}

// A library can have all functions and yet refuse some, for example X25519 in FIPS mode.
Status Library::check() const {
  // The vector of RFC 7748, section 6.1: Alice's keys.
  constexpr Key kPrivate = {0x77, 0x07, 0x6d, 0x0a, 0x73, 0x18, 0xa5, 0x7d, 0x3c, 0x16, 0xc1,
                            0x72, 0x51, 0xb2, 0x66, 0x45, 0xdf, 0x4c, 0x2f, 0x87, 0xeb, 0xc0,
                            0x99, 0x2a, 0xb1, 0x77, 0xfb, 0xa5, 0x1d, 0xb9, 0x2c, 0x2a};
  constexpr Key kPublic = {0x85, 0x20, 0xf0, 0x09, 0x89, 0x30, 0xa7, 0x54, 0x74, 0x8b, 0x7d,
                           0xdc, 0xb4, 0x3e, 0xf7, 0x5a, 0x0d, 0xbf, 0x3a, 0x0d, 0x26, 0x38,
                           0x1a, 0xf4, 0xeb, 0xa4, 0xa9, 0x8e, 0xaa, 0x9b, 0x4e, 0x6a};
  Key found{};
  if (Status made = publicOf(kPrivate, &found); !made) return made;
  if (found != kPublic) return {Code::System, "its X25519 computes wrong results"};
  void* context = newCipherContext();
  const bool hasGcm = context != nullptr && encryptInit(context, aes256Gcm(), nullptr, nullptr, nullptr) == 1;
  freeCipherContext(context);
  clearErrors_();
  return hasGcm ? Status::ok() : Status(Code::System, "it does not offer AES-256-GCM");
}

Status Library::publicOf(const Key& privateKey, Key* publicKey) const {
  void* key = newPrivateKey_(kX25519, nullptr, privateKey.data(), privateKey.size());
  size_t bytes = publicKey->size();
  const bool found = key != nullptr && publicKey_(key, publicKey->data(), &bytes) == 1 && bytes == publicKey->size();
  freeKey_(key);
  clearErrors_();
  return found ? Status::ok() : Status(Code::System, "it does not offer X25519; is it in FIPS mode?");
}

Status Library::agree(const Key& privateKey, const Key& publicKey, Key* secret) const {
  void* mine = newPrivateKey_(kX25519, nullptr, privateKey.data(), privateKey.size());
  void* theirs = newPublicKey_(kX25519, nullptr, publicKey.data(), publicKey.size());
  void* context = mine == nullptr ? nullptr : newKeyContext_(mine, nullptr);
  size_t bytes = secret->size();
  const bool agreed = context != nullptr && theirs != nullptr && deriveInit_(context) == 1 &&
                      deriveSetPeer_(context, theirs) == 1 && derive_(context, secret->data(), &bytes) == 1 &&
                      bytes == secret->size();
  freeKeyContext_(context);
  freeKey_(theirs);
  freeKey_(mine);
  clearErrors_();
  return agreed ? Status::ok() : Status::transport("the other end sent a public key that gives no secret");
}

}  // namespace jccl::crypto
