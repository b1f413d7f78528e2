package io.jccl.nativelib;

import java.lang.annotation.Native;
import java.util.Arrays;

/**
 * Configuration of a {@link NativeEngine}: numbers and texts at the places that the constants name. {@code javac -h}
 * writes the places into a header, by which {@code native/jni/engine_config.cc} reads the configuration.
 */
public final class EngineConfig {

    /** Rank of this process or thread. */
    @Native
    public static final int RANK = 0;

    /** Count of ranks. */
    @Native
    public static final int SIZE = 1;

    /** Count of channels, at least 1; the same on all ranks. */
    @Native
    public static final int CHANNELS = 2;

    /** Bytes of a SIMPLE slot (an eighth of JCCL_BUFFSIZE); 0 for 256 KiB; the same on all ranks. */
    @Native
    public static final int SIMPLE_SLOT_BYTES = 3;

    /** Bytes of an LL slot on the wire (an eighth of JCCL_LL_BUFFSIZE); 0 for 16 KiB; the same on all ranks. */
    @Native
    public static final int LL_SLOT_BYTES = 4;

    /** Bytes of an LL128 slot on the wire (an eighth of JCCL_LL128_BUFFSIZE); 0 for 32 KiB; the same on all ranks. */
    @Native
    public static final int LL128_SLOT_BYTES = 5;

    /** Count of ranks that share the processors of this host. */
    @Native
    public static final int LOCAL_RANKS = 6;

    /** Count of processors that the local ranks may use; 0 for those that this process may use. */
    @Native
    public static final int CORES = 7;

    /** Nanoseconds that a wait spins before it yields; -1 lets SHARING_RANKS and SHARED_CORES decide. */
    @Native
    public static final int SPIN_NANOS = 8;

    /** Count of TCP streams of a network connection; the same on all ranks. */
    @Native
    public static final int STREAMS_PER_CONNECTION = 9;

    /** High half of the communicator's 128-bit id, which no other communicator has. */
    @Native
    public static final int COMM_ID_HI = 10;

    /** Low half of the id. */
    @Native
    public static final int COMM_ID_LO = 11;

    /** First of four words of the secret with which data sockets authenticate. */
    @Native
    public static final int SECRET_0 = 12;

    /** Second word of the secret. */
    @Native
    public static final int SECRET_1 = 13;

    /** Third word of the secret. */
    @Native
    public static final int SECRET_2 = 14;

    /** Fourth word of the secret. */
    @Native
    public static final int SECRET_3 = 15;

    /** Nanoseconds after which an attempt to make a network connection fails. */
    @Native
    public static final int CONNECT_TIMEOUT_NANOS = 16;

    /** 1 if ranks that share processors spread over them evenly; 0 if they stay where the system puts them. */
    @Native
    public static final int RANK_PLACEMENT = 17;

    /** 1 if InfiniBand verbs are offered in addition to sockets, on hosts with adapters. */
    @Native
    public static final int IB_USED = 18;

    /** Index of the GID; -1 chooses it by the address of the interface. */
    @Native
    public static final int IB_GID_INDEX = 19;

    /** Version of RoCE, 1 or 2, that the choice of a GID index prefers. */
    @Native
    public static final int IB_ROCE_VERSION = 20;

    /** 1 if the choice of a GID index prefers IPv6. */
    @Native
    public static final int IB_IPV6 = 21;

    /** Exponent of the time that a queue pair waits for an acknowledgement: 4.096 µs · 2^this; 0 to 31. */
    @Native
    public static final int IB_TIMEOUT = 22;

    /** How often a queue pair repeats a packet that was not acknowledged, before it fails; 0 to 7. */
    @Native
    public static final int IB_RETRY_COUNT = 23;

    /** Traffic class of RoCE packets. */
    @Native
    public static final int IB_TRAFFIC_CLASS = 24;

    /** Service level of InfiniBand. */
    @Native
    public static final int IB_SERVICE_LEVEL = 25;

    /** Index of the partition key. */
    @Native
    public static final int IB_PKEY_INDEX = 26;

    /** Count of queue pairs of a connection; the same on all ranks. */
    @Native
    public static final int IB_QUEUE_PAIRS = 27;

    /** 1 if each message uses all queue pairs; 0 if messages use them in rotation; the same on all ranks. */
    @Native
    public static final int IB_SPLIT_DATA = 28;

    /** 1 if memory is registered for relaxed ordering on adapters that offer it. */
    @Native
    public static final int IB_RELAXED_ORDERING = 29;

    /** Nanoseconds after which a network peer whose host acknowledges nothing counts as gone. */
    @Native
    public static final int PEER_TIMEOUT_NANOS = 30;

    /**
     * Count of threads that move the data of TCP connections, including the thread that waits for the data; up to 16.
     */
    @Native
    public static final int SOCKET_THREADS = 31;

    /** Count of the local ranks whose processors overlap with those of this rank, directly or through other ranks. */
    @Native
    public static final int SHARING_RANKS = 32;

    /** Count of the processors that the ranks of {@link #SHARING_RANKS} may use together. */
    @Native
    public static final int SHARED_CORES = 33;

    /** Count of operations that the history keeps at least; 0 keeps 256 without times. */
    @Native
    public static final int RECORDED_OPERATIONS = 34;

    /** 1 if all TCP connections are encrypted; the same on all ranks. */
    @Native
    public static final int ENCRYPTED = 35;

    /** Count of the values. */
    @Native
    static final int LENGTH = 36;

    /** Name or path of libibverbs. */
    @Native
    public static final int TEXT_IB_LIBRARY = 0;

    /** Adapters to use, as JCCL_IB_HCA selects them. */
    @Native
    public static final int TEXT_IB_HCA = 1;

    /** Numbers of network devices: lines of a number, a space, and the name of an interface or {@code ADAPTER:PORT}. */
    @Native
    public static final int TEXT_NET_DEVICES = 2;

    /** Network plug-in to offer in addition to sockets, as JCCL_NET_PLUGIN names one; empty for none. */
    @Native
    public static final int TEXT_NET_PLUGIN = 3;

    /** Name of the communicator in log records, without spaces. */
    @Native
    public static final int TEXT_COMMUNICATOR = 4;

    /** Count of the texts. */
    @Native
    static final int TEXTS = 5;

    final long[] numbers;
    final String[] texts;

    private EngineConfig(long[] numbers, String[] texts) {
        this.numbers = numbers;
        this.texts = texts;
    }

    /** Makes a configuration whose numbers are 0 and whose texts are empty. */
    public EngineConfig() {
        this(new long[LENGTH], new String[TEXTS]);
        Arrays.fill(texts, "");
    }

    /** Returns a configuration of the same values. */
    public EngineConfig copy() {
        return new EngineConfig(numbers.clone(), texts.clone());
    }

    /** Sets the number at a place. */
    public void set(int place, long value) {
        numbers[place] = value;
    }

    /** Sets the number at a place to 1 if {@code value} is true, else to 0. */
    public void set(int place, boolean value) {
        numbers[place] = value ? 1 : 0;
    }

    /** Sets the text at a place of a {@code TEXT} constant. */
    public void setText(int place, String text) {
        texts[place] = text;
    }

    /** Returns the number at a place. */
    public long get(int place) {
        return numbers[place];
    }
}
