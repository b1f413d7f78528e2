package io.jccl.nativelib;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.DataType;
import io.jccl.Protocol;
import io.jccl.RankOperation;
import io.jccl.ReduceOp;
import io.jccl.TransportKind;
import io.jccl.WaitFor;
import io.jccl.WireFormat;
import java.lang.annotation.Native;
import java.util.function.ToIntFunction;

/**
 * The numbers by which native code knows the members of enums. {@code javac -h} writes them into a header, with which
 * {@code native/jni/numbers.cc} compares the enums of C++ when it is compiled.
 */
public final class Numbers {

    @Native
    static final int ALL_REDUCE = 0;

    @Native
    static final int REDUCE = 1;

    @Native
    static final int BROADCAST = 2;

    @Native
    static final int ALL_GATHER = 3;

    @Native
    static final int REDUCE_SCATTER = 4;

    @Native
    static final int ALL_TO_ALL = 5;

    @Native
    static final int GATHER = 6;

    @Native
    static final int SCATTER = 7;

    @Native
    static final int SEND_RECV = 8;

    @Native
    static final int BARRIER = 9;

    @Native
    static final int SCAN = 10;

    @Native
    static final int EXSCAN = 11;

    /** The number of collectives. */
    @Native
    public static final int COLLECTIVES = 12;

    @Native
    static final int INT8 = 0;

    @Native
    static final int UINT8 = 1;

    @Native
    static final int INT32 = 2;

    @Native
    static final int UINT32 = 3;

    @Native
    static final int INT64 = 4;

    @Native
    static final int UINT64 = 5;

    @Native
    static final int FLOAT16 = 6;

    @Native
    static final int BFLOAT16 = 7;

    @Native
    static final int FLOAT32 = 8;

    @Native
    static final int FLOAT64 = 9;

    @Native
    static final int FLOAT8_E4M3 = 10;

    @Native
    static final int FLOAT8_E5M2 = 11;

    @Native
    static final int INT16 = 12;

    @Native
    static final int UINT16 = 13;

    @Native
    static final int DATA_TYPES = 14;

    @Native
    static final int SUM = 0;

    @Native
    static final int PROD = 1;

    @Native
    static final int MIN = 2;

    @Native
    static final int MAX = 3;

    @Native
    static final int AVG = 4;

    @Native
    static final int BAND = 5;

    @Native
    static final int BOR = 6;

    @Native
    static final int BXOR = 7;

    /** Stands for a reduction that the application defines. */
    @Native
    public static final int USER_REDUCTION = 8;

    @Native
    static final int WIRE_BFLOAT16 = 1;

    @Native
    static final int WIRE_FLOAT16 = 2;

    @Native
    static final int WIRE_FLOAT8_BLOCK = 3;

    @Native
    static final int WIRE_INT8_BLOCK = 4;

    @Native
    static final int WIRE_FORMATS = 5;

    @Native
    static final int RING = 0;

    @Native
    static final int TREE = 1;

    @Native
    static final int DIRECT = 2;

    @Native
    static final int NVLS = 3;

    @Native
    static final int COLLNET_DIRECT = 4;

    @Native
    static final int COLLNET_CHAIN = 5;

    @Native
    static final int ALGORITHMS = 6;

    @Native
    static final int LL = 0;

    @Native
    static final int LL128 = 1;

    @Native
    static final int SIMPLE = 2;

    @Native
    static final int PROTOCOLS = 3;

    @Native
    static final int P2P = 0;

    @Native
    static final int SHM = 1;

    @Native
    static final int PLUGIN = 2;

    @Native
    static final int IB = 3;

    @Native
    static final int SOCKET = 4;

    /** The number of transports. */
    @Native
    public static final int TRANSPORTS = 5;

    @Native
    static final int CREDIT = 1;

    @Native
    static final int DATA = 0;

    @Native
    static final int BUFFER_EXCHANGE = 2;

    @Native
    static final int COLLNET = 3;

    @Native
    static final int WAITS = 4;

    @Native
    static final int ABSENT = 0;

    @Native
    static final int RUNNING = 1;

    @Native
    static final int DONE = 2;

    @Native
    static final int FAILED = 3;

    @Native
    static final int STATES = 4;

    private static final Collective[] COLLECTIVE = byNumber(Collective.values(), Numbers::of);
    private static final DataType[] DATA_TYPE = byNumber(DataType.values(), Numbers::of);
    private static final ReduceOp[] REDUCE_OP = byNumber(ReduceOp.values(), Numbers::of);
    private static final WireFormat.Encoding[] ENCODING = byNumber(WireFormat.Encoding.values(), Numbers::of);
    private static final Algorithm[] ALGORITHM = byNumber(Algorithm.values(), Numbers::of);
    private static final Protocol[] PROTOCOL = byNumber(Protocol.values(), Numbers::of);
    private static final TransportKind[] TRANSPORT = byNumber(TransportKind.values(), Numbers::of);
    private static final WaitFor[] WAIT_FOR = byNumber(WaitFor.values(), Numbers::of);
    private static final RankOperation.State[] STATE = byNumber(RankOperation.State.values(), Numbers::of);

    private Numbers() {}

    private static <E extends Enum<E>> E[] byNumber(E[] members, ToIntFunction<E> number) {
        E[] sorted = members.clone();
        for (E member : members) {
            sorted[number.applyAsInt(member)] = member;
        }
        return sorted;
    }

    /** Returns the number of a collective. */
    public static int of(Collective collective) {
        return switch (collective) {
            case ALL_REDUCE -> ALL_REDUCE;
            case REDUCE -> REDUCE;
            case BROADCAST -> BROADCAST;
            case ALL_GATHER -> ALL_GATHER;
            case REDUCE_SCATTER -> REDUCE_SCATTER;
            case ALL_TO_ALL -> ALL_TO_ALL;
            case GATHER -> GATHER;
            case SCATTER -> SCATTER;
            case SEND_RECV -> SEND_RECV;
            case BARRIER -> BARRIER;
            case SCAN -> SCAN;
            case EXSCAN -> EXSCAN;
        };
    }

    /** Returns the number of a type. */
    public static int of(DataType type) {
        return switch (type) {
            case INT8 -> INT8;
            case UINT8 -> UINT8;
            case INT32 -> INT32;
            case UINT32 -> UINT32;
            case INT64 -> INT64;
            case UINT64 -> UINT64;
            case FLOAT16 -> FLOAT16;
            case BFLOAT16 -> BFLOAT16;
            case FLOAT32 -> FLOAT32;
            case FLOAT64 -> FLOAT64;
            case FLOAT8_E4M3 -> FLOAT8_E4M3;
            case FLOAT8_E5M2 -> FLOAT8_E5M2;
            case INT16 -> INT16;
            case UINT16 -> UINT16;
        };
    }

    /** Returns the number of a reduction. */
    public static int of(ReduceOp op) {
        return switch (op) {
            case SUM -> SUM;
            case PROD -> PROD;
            case MIN -> MIN;
            case MAX -> MAX;
            case AVG -> AVG;
            case BAND -> BAND;
            case BOR -> BOR;
            case BXOR -> BXOR;
        };
    }

    /** Returns the number of an algorithm. */
    public static int of(Algorithm algorithm) {
        return switch (algorithm) {
            case RING -> RING;
            case TREE -> TREE;
            case DIRECT -> DIRECT;
            case NVLS -> NVLS;
            case COLLNET_DIRECT -> COLLNET_DIRECT;
            case COLLNET_CHAIN -> COLLNET_CHAIN;
        };
    }

    /** Returns the number of a protocol. */
    public static int of(Protocol protocol) {
        return switch (protocol) {
            case LL -> LL;
            case LL128 -> LL128;
            case SIMPLE -> SIMPLE;
        };
    }

    /** Returns the number of a transport. */
    public static int of(TransportKind transport) {
        return switch (transport) {
            case P2P -> P2P;
            case SHM -> SHM;
            case PLUGIN -> PLUGIN;
            case IB -> IB;
            case SOCKET -> SOCKET;
        };
    }

    /** Returns the number of the encoding of a format between hosts. */
    public static int of(WireFormat.Encoding encoding) {
        return switch (encoding) {
            case EXACT -> 0;
            case BFLOAT16 -> WIRE_BFLOAT16;
            case FLOAT16 -> WIRE_FLOAT16;
            case FLOAT8_BLOCK -> WIRE_FLOAT8_BLOCK;
            case INT8_BLOCK -> WIRE_INT8_BLOCK;
        };
    }

    /** Returns the number of a {@link WaitFor}. */
    public static int of(WaitFor waitFor) {
        return switch (waitFor) {
            case CREDIT -> CREDIT;
            case DATA -> DATA;
            case BUFFER_EXCHANGE -> BUFFER_EXCHANGE;
            case COLLNET -> COLLNET;
        };
    }

    private static int of(RankOperation.State state) {
        return switch (state) {
            case ABSENT -> ABSENT;
            case RUNNING -> RUNNING;
            case DONE -> DONE;
            case FAILED -> FAILED;
        };
    }

    /** Returns the collective with the given number. */
    public static Collective collective(int number) {
        return COLLECTIVE[number];
    }

    /** Returns the type with the given number. */
    public static DataType dataType(int number) {
        return DATA_TYPE[number];
    }

    /** Returns the reduction with the given number, which is not {@link #USER_REDUCTION}. */
    public static ReduceOp reduceOp(int number) {
        return REDUCE_OP[number];
    }

    /** Returns the encoding of a format between hosts with the given number. */
    public static WireFormat.Encoding encoding(int number) {
        return ENCODING[number];
    }

    /** Returns the algorithm with the given number. */
    public static Algorithm algorithm(int number) {
        return ALGORITHM[number];
    }

    /** Returns the protocol with the given number. */
    public static Protocol protocol(int number) {
        return PROTOCOL[number];
    }

    /** Returns the transport with the given number. */
    public static TransportKind transport(int number) {
        return TRANSPORT[number];
    }

    /** Returns the {@link WaitFor} with the given number. */
    public static WaitFor waitFor(int number) {
        return WAIT_FOR[number];
    }

    /** Returns the state of a recorded operation with the given number. */
    public static RankOperation.State state(int number) {
        return STATE[number];
    }
}
