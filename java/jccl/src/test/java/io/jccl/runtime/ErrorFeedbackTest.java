package io.jccl.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import io.jccl.ErrorFeedback;
import io.jccl.WireFormat;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that rounding errors of one operation are added to the next. */
class ErrorFeedbackTest {

    private static final int COUNT = 5000; // more than one chunk, and a partial block
    private static final int ROUNDS = 400;

    /** Without feedback the small elements would be rounded to the same wrong numbers each time. */
    @ParameterizedTest
    @ValueSource(strings = {"bfloat16", "float16", "float8_block", "int8_block", "int8_block:seed=5"})
    void theSumOfRoundedElementsFollowsTheSumOfTheElements(String name) {
        WireFormat format = WireFormat.parse(name);
        ErrorFeedback feedback = new ErrorFeedback(format);
        ErrorFeedback doubles = new ErrorFeedback(format);
        double[] sums = new double[COUNT];
        for (int round = 0; round < ROUNDS; round++) {
            float[] values = values();
            double[] wide = new double[COUNT];
            Arrays.setAll(wide, ErrorFeedbackTest::element);
            feedback.compensate(values);
            doubles.compensate(wide);
            for (int i = 0; i < COUNT; i++) {
                sums[i] += values[i];
                assertThat(wide[i]).isEqualTo(values[i]);
            }
        }
        for (int i = 0; i < COUNT; i++) {
            double most = 2 * format.errorBound(2, 2); // an element and the error that is added to it
            assertThat(sums[i]).as("i=%s", i).isCloseTo(ROUNDS * (double) element(i), within(most));
        }
    }

    private static float element(int i) {
        return i % 100 == 0 ? 1 : (float) (0.001 + i * 1e-7);
    }

    private static float[] values() {
        float[] values = new float[COUNT];
        for (int i = 0; i < COUNT; i++) {
            values[i] = element(i);
        }
        return values;
    }

    @Test
    void infinitiesAndNansLeaveNoError() {
        ErrorFeedback feedback = new ErrorFeedback(WireFormat.INT8_BLOCK);
        float[] values = {Float.POSITIVE_INFINITY, Float.NaN, 1};
        feedback.compensate(values);
        assertThat(values).startsWith(Float.POSITIVE_INFINITY, Float.NaN);
        float[] next = {1, 1, 1};
        feedback.compensate(next);
        assertThat(next).containsExactly(new float[] {1, 1, 1}, within(0.01f));
    }

    @ParameterizedTest
    @CsvSource({"float16, 1e5f, 65504", "bfloat16, 3.4e38f, 0x1.fep127", "int8_block, 3.4e38f, 0x1.fep127"})
    void thePartOfAnElementBeyondTheRangeFollowsLater(String name, float element, float largest) {
        WireFormat format = WireFormat.parse(name);
        ErrorFeedback feedback = new ErrorFeedback(format);
        float[] values = {element};
        feedback.compensate(values);
        assertThat(values[0]).isCloseTo(largest, within((float) format.errorBound(largest, largest)));
        double sent = values[0];
        values[0] = 0;
        feedback.compensate(values);
        assertThat(sent + values[0]).isCloseTo(element, within(format.errorBound(largest, largest)));
    }

    @Test
    void buffersAreReadFromTheirPositionToTheirLimitAndDoNotMove() {
        float[] expected = values();
        new ErrorFeedback(WireFormat.INT8_BLOCK).compensate(expected);
        FloatBuffer floats = FloatBuffer.allocate(COUNT + 2);
        DoubleBuffer doubles = DoubleBuffer.allocate(COUNT + 2);
        for (int i = 0; i < COUNT; i++) {
            floats.put(i + 1, element(i));
            doubles.put(i + 1, element(i));
        }
        new ErrorFeedback(WireFormat.INT8_BLOCK).compensate(floats.position(1).limit(COUNT + 1));
        new ErrorFeedback(WireFormat.INT8_BLOCK).compensate(doubles.position(1).limit(COUNT + 1));
        assertThat(floats.position()).isEqualTo(1);
        assertThat(doubles.position()).isEqualTo(1);
        for (int i = 0; i < COUNT; i++) {
            assertThat(floats.get(i + 1)).isEqualTo(expected[i]);
            assertThat(doubles.get(i + 1)).isEqualTo(expected[i]);
        }
        assertThat(floats.get(0)).isZero();
        assertThat(doubles.limit(COUNT + 2).get(COUNT + 1)).isZero();
    }

    @Test
    void theNumberOfElementsMustStay() {
        ErrorFeedback feedback = new ErrorFeedback(WireFormat.BFLOAT16);
        feedback.compensate(new float[3]);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> feedback.compensate(new double[4]))
                .withMessage("values=4 errors=3: expected as many elements as in earlier calls; call clear(), or use an"
                        + " object for each buffer");
        feedback.clear();
        feedback.compensate(new double[4]);
    }

    @Test
    void theExactFormatIsRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new ErrorFeedback(WireFormat.EXACT))
                .withMessage("format=exact: expected a format that rounds");
    }
}
