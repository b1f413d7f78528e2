package io.jccl;

import java.nio.ByteBuffer;
import java.util.EnumSet;
import java.util.Set;

/** Keeps the pair with the smaller or larger value; of equal values, the pair with the smaller index. */
final class IndexedExtreme implements Reduction.Function {

    private static final Set<DataType> TYPES = EnumSet.of(
            DataType.INT8,
            DataType.UINT8,
            DataType.INT16,
            DataType.UINT16,
            DataType.INT32,
            DataType.UINT32,
            DataType.INT64,
            DataType.UINT64,
            DataType.FLOAT32,
            DataType.FLOAT64);

    private final DataType type;
    private final boolean isMax;

    IndexedExtreme(DataType type, boolean isMax) {
        if (!TYPES.contains(type)) {
            throw new IllegalArgumentException("type=" + type + ": expected one of " + TYPES);
        }
        this.type = type;
        this.isMax = isMax;
    }

    String name() {
        return (isMax ? "maxloc-" : "minloc-") + type.label();
    }

    @Override
    public void fold(ByteBuffer accumulator, ByteBuffer next) {
        int bytes = type.bytes();
        int to = accumulator.position();
        int pair = 2 * bytes;
        for (int from = next.position(); from < next.limit(); from += pair, to += pair) {
            int values = compare(next, from, accumulator, to);
            boolean isBetter = values == 0
                    ? compare(next, from + bytes, accumulator, to + bytes) < 0
                    : isMax ? values > 0 : values < 0;
            if (isBetter) {
                accumulator.put(to, next, from, pair);
            }
        }
    }

    private int compare(ByteBuffer a, int i, ByteBuffer b, int j) {
        return switch (type) {
            case INT8 -> Byte.compare(a.get(i), b.get(j));
            case UINT8 -> Byte.compareUnsigned(a.get(i), b.get(j));
            case INT16 -> Short.compare(a.getShort(i), b.getShort(j));
            case UINT16 -> Short.compareUnsigned(a.getShort(i), b.getShort(j));
            case INT32 -> Integer.compare(a.getInt(i), b.getInt(j));
            case UINT32 -> Integer.compareUnsigned(a.getInt(i), b.getInt(j));
            case INT64 -> Long.compare(a.getLong(i), b.getLong(j));
            case UINT64 -> Long.compareUnsigned(a.getLong(i), b.getLong(j));
            case FLOAT32 -> Float.compare(a.getFloat(i), b.getFloat(j));
            default -> Double.compare(a.getDouble(i), b.getDouble(j));
        };
    }
}
