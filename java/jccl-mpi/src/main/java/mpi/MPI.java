package mpi;

import io.jccl.Communicator;
import io.jccl.DataType;
import io.jccl.ReduceOp;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import org.jspecify.annotations.Nullable;

/** The constants of MPI, and what begins and ends a program. */
public final class MPI {

    public static final int ANY_SOURCE = -1;
    public static final int ANY_TAG = -1;
    public static final int PROC_NULL = -2;
    public static final int UNDEFINED = -32766;
    public static final int BSEND_OVERHEAD = 0;

    public static final int IDENT = 0;
    public static final int CONGRUENT = 1;
    public static final int SIMILAR = 2;
    public static final int UNEQUAL = 3;

    public static final int THREAD_SINGLE = 0;
    public static final int THREAD_FUNNELED = 1;
    public static final int THREAD_SERIALIZED = 2;
    public static final int THREAD_MULTIPLE = 3;

    public static final int SUCCESS = 0;
    public static final int ERR_BUFFER = 1;
    public static final int ERR_COUNT = 2;
    public static final int ERR_TYPE = 3;
    public static final int ERR_COMM = 5;
    public static final int ERR_RANK = 6;
    public static final int ERR_REQUEST = 7;
    public static final int ERR_GROUP = 8;
    public static final int ERR_OP = 10;
    public static final int ERR_ARG = 13;
    public static final int ERR_TRUNCATE = 15;
    public static final int ERR_OTHER = 16;
    public static final int ERR_UNSUPPORTED_OPERATION = 52;

    public static final Datatype BYTE = new Datatype("MPI.BYTE", DataType.INT8, byte[]::new);
    public static final Datatype PACKED = new Datatype("MPI.PACKED", DataType.INT8, byte[]::new);
    public static final Datatype BOOLEAN = new Datatype("MPI.BOOLEAN", DataType.UINT8, boolean[]::new);
    public static final Datatype CHAR = new Datatype("MPI.CHAR", DataType.UINT16, char[]::new);
    public static final Datatype SHORT = new Datatype("MPI.SHORT", DataType.INT16, short[]::new);
    public static final Datatype INT = new Datatype("MPI.INT", DataType.INT32, int[]::new);
    public static final Datatype LONG = new Datatype("MPI.LONG", DataType.INT64, long[]::new);
    public static final Datatype FLOAT = new Datatype("MPI.FLOAT", DataType.FLOAT32, float[]::new);
    public static final Datatype DOUBLE = new Datatype("MPI.DOUBLE", DataType.FLOAT64, double[]::new);

    public static final Op SUM = Op.of(ReduceOp.SUM);
    public static final Op PROD = Op.of(ReduceOp.PROD);
    public static final Op MIN = Op.of(ReduceOp.MIN);
    public static final Op MAX = Op.of(ReduceOp.MAX);
    public static final Op BAND = Op.of(ReduceOp.BAND);
    public static final Op BOR = Op.of(ReduceOp.BOR);
    public static final Op BXOR = Op.of(ReduceOp.BXOR);
    public static final Op LAND = Op.logical("land", (a, b) -> a & b);
    public static final Op LOR = Op.logical("lor", (a, b) -> a | b);
    public static final Op LXOR = Op.logical("lxor", (a, b) -> a ^ b);
    public static final Op MINLOC = Op.missing("minloc");
    public static final Op MAXLOC = Op.missing("maxloc");

    /** Failures are exceptions always. */
    public static final Errhandler ERRORS_RETURN = new Errhandler();

    public static final Request REQUEST_NULL = Request.none();
    public static final Group GROUP_EMPTY = new Group(new int[0], UNDEFINED);
    public static final Intracomm COMM_NULL = new Intracomm();

    /** All processes. Null until {@link #Init}. */
    public static final Intracomm COMM_WORLD = new Intracomm();

    /** This process alone. Null until {@link #Init}. */
    public static final Intracomm COMM_SELF = new Intracomm();

    private static final double NANOS_PER_SECOND = 1e9;

    private static volatile boolean initialized;
    private static volatile boolean finalized;
    private static volatile byte @Nullable [] attached;

    private MPI() {}

    /**
     * Joins the other processes, which a launcher has started: {@code jccl run}, {@code mpirun}, {@code srun}, or another
     * that {@link Communicator#fromEnvironment()} knows.
     *
     * @return the arguments, unchanged
     */
    public static synchronized String[] Init(String[] arguments) throws MPIException {
        InitThread(arguments, THREAD_MULTIPLE);
        return arguments;
    }

    /** Like {@link #Init}. Any thread may call anything. */
    public static synchronized int InitThread(String[] arguments, int required) throws MPIException {
        if (initialized) {
            throw new MPIException(ERR_OTHER, "Init was called before");
        }
        try {
            Communicator world = Communicator.fromEnvironment();
            COMM_WORLD.open(world, null);
            COMM_SELF.open(world.split(world.rank(), 0).orElseThrow(), COMM_WORLD);
        } catch (RuntimeException e) {
            throw MPIException.of(e);
        }
        initialized = true;
        return THREAD_MULTIPLE;
    }

    /** Waits for all processes, and ends the communication. */
    public static synchronized void Finalize() throws MPIException {
        if (!initialized || finalized) {
            throw new MPIException(ERR_OTHER, "Finalize was called " + (finalized ? "before" : "without Init"));
        }
        COMM_WORLD.barrier();
        finalized = true;
        COMM_SELF.free();
        COMM_WORLD.free();
    }

    public static boolean isInitialized() {
        return initialized;
    }

    public static boolean isFinalized() {
        return finalized;
    }

    /** Returns a time in seconds. */
    public static double wtime() {
        return System.nanoTime() / NANOS_PER_SECOND;
    }

    /** Returns the resolution of {@link #wtime()} in seconds. */
    public static double wtick() {
        return 1 / NANOS_PER_SECOND;
    }

    /** Keeps a buffer for {@link #detachBuffer}. A buffered send copies its message elsewhere, however large. */
    public static void attachBuffer(byte[] buffer) {
        attached = buffer;
    }

    /** Returns the buffer that was attached. */
    public static byte[] detachBuffer() throws MPIException {
        byte[] buffer = attached;
        if (buffer == null) {
            throw new MPIException(ERR_BUFFER, "no buffer is attached");
        }
        attached = null;
        return buffer;
    }

    public static ByteBuffer newByteBuffer(int elements) {
        return ByteBuffer.allocateDirect(elements).order(ByteOrder.nativeOrder());
    }

    public static ShortBuffer newShortBuffer(int elements) {
        return newByteBuffer(elements * Short.BYTES).asShortBuffer();
    }

    public static CharBuffer newCharBuffer(int elements) {
        return newByteBuffer(elements * Character.BYTES).asCharBuffer();
    }

    public static IntBuffer newIntBuffer(int elements) {
        return newByteBuffer(elements * Integer.BYTES).asIntBuffer();
    }

    public static LongBuffer newLongBuffer(int elements) {
        return newByteBuffer(elements * Long.BYTES).asLongBuffer();
    }

    public static FloatBuffer newFloatBuffer(int elements) {
        return newByteBuffer(elements * Float.BYTES).asFloatBuffer();
    }

    public static DoubleBuffer newDoubleBuffer(int elements) {
        return newByteBuffer(elements * Double.BYTES).asDoubleBuffer();
    }

    /** Returns a buffer over the elements from an offset on. */
    @SuppressWarnings("unchecked")
    public static <B extends Buffer> B slice(B buffer, int offset) {
        Buffer part = buffer.duplicate().clear().position(offset).slice();
        return (B) (part instanceof ByteBuffer bytes ? bytes.order(ByteOrder.nativeOrder()) : part);
    }
}
