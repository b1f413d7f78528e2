package io.jccl.nativelib;

import java.lang.annotation.Native;

/**
 * Configuration of a {@link DeviceEngine}: numbers at the places that the constants name. {@code javac -h} writes the
 * places into a header, by which {@code cuda/jni/device_engine.cc} reads the configuration.
 */
public final class DeviceConfig {

    /** Rank of this process or thread. */
    @Native
    public static final int RANK = 0;

    /** Count of ranks. */
    @Native
    public static final int SIZE = 1;

    /** Count of channels, at least 1; the same on all ranks. */
    @Native
    public static final int CHANNELS = 2;

    /** Number of the device in this process. */
    @Native
    public static final int DEVICE = 3;

    /** Threads of a block: whole warps, at least two. */
    @Native
    public static final int THREADS = 4;

    /** Bytes of a SIMPLE slot; the same on all ranks. */
    @Native
    public static final int SIMPLE_SLOT_BYTES = 5;

    /** Bytes of an LL slot; the same on all ranks. */
    @Native
    public static final int LL_SLOT_BYTES = 6;

    /** Bytes of an LL128 slot; the same on all ranks. */
    @Native
    public static final int LL128_SLOT_BYTES = 7;

    /** High half of the communicator's 128-bit id. */
    @Native
    public static final int COMM_ID_HI = 8;

    /** Low half of the id. */
    @Native
    public static final int COMM_ID_LO = 9;

    /** 1 to pass the segment to other processes as a file descriptor if the driver supports that. */
    @Native
    public static final int DESCRIPTORS = 10;

    /** As {@link EngineConfig#RECORDED_OPERATIONS}. */
    @Native
    public static final int RECORDED_OPERATIONS = 11;

    /** 1 to allocate the segment so that other processes can open it by CUDA IPC's legacy handles. */
    @Native
    public static final int HANDLES = 12;

    /** The most bytes of a one-shot all-reduce in place, 0 to {@link #MAX_ONE_SHOT_BYTES}; the same on all ranks. */
    @Native
    public static final int ONE_SHOT_BYTES = 13;

    /** Largest value of {@link #ONE_SHOT_BYTES}. */
    @Native
    public static final int MAX_ONE_SHOT_BYTES = 256 * 1024;

    /** Largest number of threads of a block: more would not leave enough registers for each of them. */
    @Native
    public static final int MAX_THREADS = 384;

    /** Largest number of channels of a direct operation through slots: only these connect each rank with every other. */
    @Native
    public static final int DIRECT_CHANNELS = 2;

    /**
     * Largest number of ranks of a direct operation, also in place: a block of a kernel keeps the connections or buffers of
     * all ranks in shared memory.
     */
    @Native
    public static final int DIRECT_RANKS = 64;

    /** Largest number of ranks of a communicator with GPUs. */
    @Native
    public static final int MAX_RANKS = 4096;

    /** Count of the values. */
    @Native
    static final int LENGTH = 14;

    final long[] numbers = new long[LENGTH];

    /** Sets the number at a place. */
    public void set(int place, long value) {
        numbers[place] = value;
    }

    /** Sets the number at a place to 1 if {@code value} is true, else to 0. */
    public void set(int place, boolean value) {
        numbers[place] = value ? 1 : 0;
    }
}
