# Only GPUs of compute capability 9.0 and later have multicast addresses.
set(JCCL_LEAST_ARCHITECTURE_nvls 90)
