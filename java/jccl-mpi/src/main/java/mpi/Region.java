package mpi;

import io.jccl.DataBuffer;
import io.jccl.Reduction;
import java.lang.reflect.Array;
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

/**
 * The memory that an argument of a call names. Elements of {@code char} and {@code boolean}, which the library does
 * not take, are copied.
 */
final class Region {

    private static final Reduction COPY = Reduction.of("copy", ByteBuffer::put);

    private final Datatype type;
    private final int offset;
    private final int count;
    private final DataBuffer data;
    private final @Nullable Object array; // receives the elements of `copy`
    private final @Nullable ByteBuffer copy;

    private Region(
            Datatype type, int offset, int count, DataBuffer data, @Nullable Object array, @Nullable ByteBuffer copy) {
        this.type = type;
        this.offset = offset;
        this.count = count;
        this.data = data;
        this.array = array;
        this.copy = copy;
    }

    /** Copies elements to memory of the same size. */
    static void copy(DataBuffer from, DataBuffer to) {
        COPY.reduceLocal(to, from);
    }

    /** Returns memory of this class's own. */
    static Region own(Datatype type, int count) {
        ByteBuffer bytes = ByteBuffer.allocateDirect(count * type.getSize()).order(ByteOrder.nativeOrder());
        return new Region(type, 0, count, DataBuffer.of(bytes, type.type()), null, bytes);
    }

    /** Returns a copy of elements of a buffer. */
    static Region copyOf(Object buffer, int offset, int count, Datatype type) throws MPIException {
        Region copy = own(type, count);
        copy(of(buffer, offset, count, type).data, copy.data);
        return copy;
    }

    /**
     * Returns elements of a buffer.
     *
     * @param buffer an array, or a buffer whose first elements count, wherever its position is; null if count is 0
     * @throws MPIException if the buffer is too short or has elements of another type
     */
    static Region of(@Nullable Object buffer, int offset, int count, Datatype type) throws MPIException {
        if (count < 0) {
            throw new MPIException(MPI.ERR_COUNT, "count=" + count + ": expected 0 or more");
        }
        if (buffer == null) {
            if (count > 0) {
                throw new MPIException(
                        MPI.ERR_BUFFER, "buffer=null count=" + count + ": expected an array or a buffer");
            }
            return own(type, 0);
        }
        try {
            return known(buffer, offset, count, type);
        } catch (IndexOutOfBoundsException | IllegalArgumentException e) {
            throw new MPIException(
                    MPI.ERR_BUFFER,
                    "buffer=" + buffer.getClass().getSimpleName() + " offset=" + offset + " count=" + count + " type="
                            + type + ": " + e,
                    e);
        }
    }

    private static Region known(Object buffer, int offset, int count, Datatype type) throws MPIException {
        if (buffer instanceof CharBuffer chars) {
            requireType(buffer, type == MPI.CHAR, type);
            Region region = own(type, count);
            region.bytes().asCharBuffer().put(0, chars.duplicate().clear(), offset, count);
            return new Region(type, offset, count, region.data, buffer, region.copy);
        }
        if (buffer instanceof boolean[] || buffer instanceof char[]) {
            requireType(buffer, type.array(0).getClass().isInstance(buffer), type);
            if (offset < 0 || offset + (long) count > Array.getLength(buffer)) {
                throw new IndexOutOfBoundsException("expected at most " + Array.getLength(buffer) + " elements");
            }
            Region region = own(type, count);
            type.write(buffer, offset, count, region.bytes());
            return new Region(type, offset, count, region.data, buffer, region.copy);
        }
        DataBuffer whole = buffer instanceof Buffer one ? ofBuffer(one, type) : ofArray(buffer, type);
        return new Region(type, offset, count, whole.slice(offset, count), null, null);
    }

    private static DataBuffer ofArray(Object array, Datatype type) throws MPIException {
        requireType(array, type.array(0).getClass().isInstance(array), type);
        if (array instanceof byte[] bytes) {
            return DataBuffer.of(bytes, type.type());
        } else if (array instanceof short[] shorts) {
            return DataBuffer.of(shorts, type.type());
        } else if (array instanceof int[] ints) {
            return DataBuffer.of(ints);
        } else if (array instanceof long[] longs) {
            return DataBuffer.of(longs);
        } else if (array instanceof float[] floats) {
            return DataBuffer.of(floats);
        }
        return DataBuffer.of((double[]) array);
    }

    private static DataBuffer ofBuffer(Buffer buffer, Datatype type) throws MPIException {
        Buffer whole = buffer.duplicate().clear();
        if (whole instanceof ByteBuffer bytes) {
            bytes.limit(bytes.capacity() / type.getSize() * type.getSize());
            return DataBuffer.of(bytes.order(ByteOrder.nativeOrder()), type.type());
        }
        requireType(
                buffer,
                whole instanceof ShortBuffer && type == MPI.SHORT
                        || whole instanceof IntBuffer && type == MPI.INT
                        || whole instanceof LongBuffer && type == MPI.LONG
                        || whole instanceof FloatBuffer && type == MPI.FLOAT
                        || whole instanceof DoubleBuffer && type == MPI.DOUBLE,
                type);
        if (whole instanceof ShortBuffer shorts) {
            return DataBuffer.of(shorts, type.type());
        } else if (whole instanceof IntBuffer ints) {
            return DataBuffer.of(ints);
        } else if (whole instanceof LongBuffer longs) {
            return DataBuffer.of(longs);
        } else if (whole instanceof FloatBuffer floats) {
            return DataBuffer.of(floats);
        }
        return DataBuffer.of((DoubleBuffer) whole);
    }

    private static void requireType(Object buffer, boolean fits, Datatype type) throws MPIException {
        if (!fits) {
            throw new MPIException(
                    MPI.ERR_TYPE,
                    "buffer=" + buffer.getClass().getSimpleName() + " type=" + type
                            + ": expected elements of this type in an array or a buffer");
        }
    }

    DataBuffer data() {
        return data;
    }

    private ByteBuffer bytes() {
        return copy.duplicate().order(ByteOrder.nativeOrder());
    }

    /** Copies elements that a call has received to the array for which they are. */
    void received() {
        if (array instanceof CharBuffer chars) {
            chars.duplicate().clear().put(offset, bytes().asCharBuffer(), 0, count);
        } else if (array != null) {
            Object elements = type.read(bytes(), count);
            System.arraycopy(elements, 0, array, offset, count);
        }
    }
}
