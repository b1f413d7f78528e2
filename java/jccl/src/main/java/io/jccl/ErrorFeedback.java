package io.jccl;

import io.jccl.internal.Arguments;
import io.jccl.runtime.Implementation;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
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

    private final WireFormat format;
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
    }

    /**
     * Adds the last errors to the elements, rounds the elements to the format, and keeps the new errors. Elements that
     * are infinite or NaN have no error.
     *
     * @param values the elements, as many as in the first call
     * @throws IllegalArgumentException if the number of elements changed; {@link #clear()} forgets it
     */
    public void compensate(float[] values) {
        begin(Arguments.required("values", values, "the elements of the next operation").length);
        for (int at = 0; at < values.length; at += CHUNK) {
            int count = Math.min(CHUNK, values.length - at);
            for (int i = 0; i < count; i++) {
                chunk.put(i, (float) (values[at + i] + errors[at + i]));
            }
            Implementation.get().round(format, chunk, at, count);
            for (int i = at; i < at + count; i++) {
                float rounded = chunk.get(i - at);
                keep(i, values[i] + errors[i], rounded);
                values[i] = rounded;
            }
        }
    }

    /** {@link #compensate(float[])} for float64, which is first rounded to float32. */
    public void compensate(double[] values) {
        begin(Arguments.required("values", values, "the elements of the next operation").length);
        for (int at = 0; at < values.length; at += CHUNK) {
            int count = Math.min(CHUNK, values.length - at);
            for (int i = 0; i < count; i++) {
                chunk.put(i, (float) (values[at + i] + errors[at + i]));
            }
            Implementation.get().round(format, chunk, at, count);
            for (int i = at; i < at + count; i++) {
                float rounded = chunk.get(i - at);
                keep(i, values[i] + errors[i], rounded);
                values[i] = rounded;
            }
        }
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

    private void keep(int index, double exact, float rounded) {
        double error = exact - rounded;
        errors[index] = Double.isFinite(error) ? error : 0;
    }
}
