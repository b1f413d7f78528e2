package io.jccl;

import io.jccl.internal.Arguments;
import io.jccl.runtime.Implementation;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;

/**
 * Keeps the rounding errors of one buffer, such as a gradient, from one operation to the next. {@link #compensate} adds
 * the error of the last call to the elements, rounds them, and keeps the new error. So an error is delayed and not lost,
 * and training with a format of few bits converges like exact training.
 *
 * <pre>{@code
 * ErrorFeedback feedback = new ErrorFeedback(WireFormat.INT8_BLOCK);
 * for (...) {
 *     float[] gradient = gradientOf(batch);
 *     feedback.compensate(gradient);
 *     comm.allReduce(gradient, ReduceOp.AVG, WireFormat.INT8_BLOCK).await();
 *     step(gradient);
 * }
 * }</pre>
 *
 * <p>The errors are those of this rank's own elements. Partial sums and results are rounded as well, by errors that no
 * rank keeps. Not safe for use by several threads.
 */
public final class ErrorFeedback {

    private static final int CHUNK = 16 * WireFormat.BLOCK; // elements that are rounded at a time

    private static final double MAX_FLOAT16 = 65504;

    /** The largest number that bfloat16 does not round to infinity. Blocks of 8 bits hold it, too. */
    private static final double MAX_ROUNDED = 0x1.fep127;

    private static final String EXPECTED = "the elements of the next operation";

    private final WireFormat format;
    private final double largest; // finite magnitude of the format
    private final double[] exact = new double[CHUNK];
    private final FloatBuffer chunk = ByteBuffer.allocateDirect(CHUNK * Float.BYTES)
            .order(ByteOrder.nativeOrder())
            .asFloatBuffer();
    private double[] errors = {};

    /**
     * Creates an object without errors.
     *
     * @param format the format of the operations
     * @throws IllegalArgumentException if the format is {@link WireFormat#EXACT}, which has no errors
     */
    public ErrorFeedback(WireFormat format) {
        this.format = Arguments.required("format", format, "a format, for example WireFormat.INT8_BLOCK");
        if (format.encoding() == WireFormat.Encoding.EXACT) {
            throw new IllegalArgumentException("format=exact: expected a format that rounds");
        }
        this.largest = format.encoding() == WireFormat.Encoding.FLOAT16 ? MAX_FLOAT16 : MAX_ROUNDED;
    }

    /**
     * Adds the last errors to the elements, rounds the elements to the format, and keeps the new errors. Of an element
     * beyond the format's range, the part beyond it is an error, too. Elements that are infinite or NaN have no error.
     *
     * @param values the elements, as many as in the first call
     * @throws IllegalArgumentException if the number of elements changed; {@link #clear()} forgets it
     */
    public void compensate(float[] values) {
        compensate(FloatBuffer.wrap(Arguments.required("values", values, EXPECTED)));
    }

    /** {@link #compensate(float[])} for the elements from the buffer's position to its limit, which do not move. */
    public void compensate(FloatBuffer values) {
        int first = Arguments.required("values", values, EXPECTED).position();
        compensate(
                values.remaining(),
                (at, count) -> {
                    for (int i = 0; i < count; i++) {
                        exact[i] = values.get(first + at + i);
                    }
                },
                (at, count) -> values.put(first + at, chunk, 0, count));
    }

    /** {@link #compensate(float[])} for float64, which is first rounded to float32. */
    public void compensate(double[] values) {
        compensate(DoubleBuffer.wrap(Arguments.required("values", values, EXPECTED)));
    }

    /** {@link #compensate(double[])} for the elements from the buffer's position to its limit, which do not move. */
    public void compensate(DoubleBuffer values) {
        int first = Arguments.required("values", values, EXPECTED).position();
        compensate(values.remaining(), (at, count) -> values.get(first + at, exact, 0, count), (at, count) -> {
            for (int i = 0; i < count; i++) {
                values.put(first + at + i, chunk.get(i));
            }
        });
    }

    /** Copies a chunk of elements, which begins {@code at} an index, to or from this object. */
    private interface Copy {

        void copy(int at, int count);
    }

    private void compensate(int elements, Copy load, Copy store) {
        begin(elements);
        for (int at = 0; at < elements; at += CHUNK) {
            int count = Math.min(CHUNK, elements - at);
            load.copy(at, count);
            for (int i = 0; i < count; i++) {
                exact[i] += errors[at + i];
                chunk.put(i, inRange(exact[i]));
            }
            Implementation.get().round(format, chunk, at, count);
            for (int i = 0; i < count; i++) {
                double error = exact[i] - chunk.get(i);
                errors[at + i] = Double.isFinite(error) ? error : 0;
            }
            store.copy(at, count);
        }
    }

    /** Returns a finite element, or the largest finite one of the format if that is nearer to zero. */
    private float inRange(double element) {
        return (float) (Double.isInfinite(element) ? element : Math.max(-largest, Math.min(largest, element)));
    }

    /** Forgets all errors, for instance after the parameters were replaced. */
    public void clear() {
        errors = new double[0];
    }

    private void begin(int count) {
        if (errors.length == 0) {
            errors = new double[count];
        }
        if (errors.length != count) {
            throw new IllegalArgumentException(
                    "values=" + count + " errors=" + errors.length
                            + ": expected as many elements as in earlier calls; call clear(), or use an object for each buffer");
        }
    }
}
