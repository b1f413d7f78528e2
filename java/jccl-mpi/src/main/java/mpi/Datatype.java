package mpi;

import io.jccl.DataType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.function.IntFunction;

/** One of Java's primitive types. There are no derived types. */
public final class Datatype {

    private final String name;
    private final DataType type;
    private final IntFunction<Object> newArray;

    Datatype(String name, DataType type, IntFunction<Object> newArray) {
        this.name = name;
        this.type = type;
        this.newArray = newArray;
    }

    /** Returns the name of the type, for example {@code MPI.INT}. */
    public String getName() {
        return name;
    }

    /** Returns the size of an element in bytes. */
    public int getSize() {
        return type.bytes();
    }

    /** Returns the distance of two elements in bytes. */
    public int getExtent() {
        return type.bytes();
    }

    @Override
    public String toString() {
        return name;
    }

    DataType type() {
        return type;
    }

    /** Returns an array of this type's elements. */
    Object array(int count) {
        return newArray.apply(count);
    }

    /** Returns the first elements of a buffer as an array. */
    Object read(ByteBuffer buffer, int count) {
        ByteBuffer bytes = buffer.duplicate().order(ByteOrder.nativeOrder());
        Object array = array(count);
        if (array instanceof byte[] to) {
            bytes.get(to);
        } else if (array instanceof boolean[] to) {
            for (int i = 0; i < count; i++) {
                to[i] = bytes.get() != 0;
            }
        } else if (array instanceof char[] to) {
            bytes.asCharBuffer().get(to);
        } else if (array instanceof short[] to) {
            bytes.asShortBuffer().get(to);
        } else if (array instanceof int[] to) {
            bytes.asIntBuffer().get(to);
        } else if (array instanceof long[] to) {
            bytes.asLongBuffer().get(to);
        } else if (array instanceof float[] to) {
            bytes.asFloatBuffer().get(to);
        } else {
            bytes.asDoubleBuffer().get((double[]) array);
        }
        return array;
    }

    /** Writes elements of an array at the start of a buffer. */
    void write(Object array, int offset, int count, ByteBuffer buffer) {
        ByteBuffer bytes = buffer.duplicate().order(ByteOrder.nativeOrder());
        if (array instanceof byte[] from) {
            bytes.put(from, offset, count);
        } else if (array instanceof boolean[] from) {
            for (int i = offset; i < offset + count; i++) {
                bytes.put((byte) (from[i] ? 1 : 0));
            }
        } else if (array instanceof char[] from) {
            bytes.asCharBuffer().put(from, offset, count);
        } else if (array instanceof short[] from) {
            bytes.asShortBuffer().put(from, offset, count);
        } else if (array instanceof int[] from) {
            bytes.asIntBuffer().put(from, offset, count);
        } else if (array instanceof long[] from) {
            bytes.asLongBuffer().put(from, offset, count);
        } else if (array instanceof float[] from) {
            bytes.asFloatBuffer().put(from, offset, count);
        } else {
            bytes.asDoubleBuffer().put((double[]) array, offset, count);
        }
    }
}
