package io.jccl.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.jccl.DataType;
import io.jccl.WireFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the values of {@link WireFormat}. */
class WireFormatTest {

    @ParameterizedTest
    @ValueSource(strings = {"exact", "bfloat16", "float16", "float8_block", "int8_block", "int8_block:seed=-42"})
    void namesAreReadBack(String name) {
        WireFormat format = WireFormat.parse(name);
        assertThat(format).hasToString(name).isEqualTo(WireFormat.parse(" " + name.toUpperCase() + " "));
        assertThat(format.hashCode()).isEqualTo(WireFormat.parse(name).hashCode());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "int4", "exact:seed=1", "int8_block:seed=", "int8_block:seed=x", "int8_block,seed=1"})
    void otherNamesAreRefused(String name) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> WireFormat.parse(name))
                .withMessageStartingWith("wireFormat=\"" + name + "\": expected one of exact, bfloat16");
    }

    @Test
    void aSeedMakesRoundingStochastic() {
        assertThat(WireFormat.INT8_BLOCK.isStochastic()).isFalse();
        WireFormat random = WireFormat.INT8_BLOCK.stochastic(7);
        assertThat(random.isStochastic()).isTrue();
        assertThat(random.seed()).isEqualTo(7);
        assertThat(random).isNotEqualTo(WireFormat.INT8_BLOCK).isNotEqualTo(WireFormat.INT8_BLOCK.stochastic(8));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> WireFormat.EXACT.stochastic(7))
                .withMessage("format=exact seed=7: expected a format that rounds");
    }

    @Test
    void boundsFollowFromTheSignificantBitsAndTheBlock() {
        assertThat(WireFormat.EXACT.errorBound(5, 5)).isZero();
        assertThat(WireFormat.BFLOAT16.errorBound(2, 100)).isBetween(2 * 0x1p-8, 2 * 0x1.001p-8);
        assertThat(WireFormat.FLOAT16.errorBound(2, 100)).isBetween(2 * 0x1p-11, 2 * 0x1.01p-11);
        assertThat(WireFormat.INT8_BLOCK.errorBound(2, 100)).isBetween(0.4, 0.4001);
        assertThat(WireFormat.FLOAT8_BLOCK.stochastic(1).errorBound(2, 2)).isBetween(0.25, 0.2501);
    }

    @Test
    void onlyFloat32AndFloat64AreSupported() {
        assertThat(DataType.values())
                .filteredOn(WireFormat::supports)
                .containsExactly(DataType.FLOAT32, DataType.FLOAT64);
    }
}
