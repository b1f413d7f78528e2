package io.jccl.tuning;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.CommunicatorConfig;
import io.jccl.Protocol;
import io.jccl.config.Settings;
import io.jccl.search.SearchOptions.CrossNic;
import io.jccl.topology.PathType;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests the overrides of choices: each is read under JCCL's and NCCL's name, changes the choice, and refuses invalid
 * values.
 */
class ChoiceSettingsTest {

    private static final GpuShape SHAPE = GpuShapes.of(8, 1, 16, 20, PathType.NVL, 80);

    private static Settings settings(String name, String value) {
        return Settings.load(CommunicatorConfig.defaults(), property -> null, Map.of(name, value));
    }

    private static Choice choice(Settings settings, long bytes) {
        TuningOverrides overrides = TuningOverrides.of(settings);
        return ChoiceTable.build(new GraphCostModel(SHAPE, overrides), overrides)
                .choice(Collective.ALL_REDUCE, bytes);
    }

    @ParameterizedTest
    @CsvSource({"JCCL", "NCCL"})
    void eachSettingChangesTheChoiceUnderBothNames(String prefix) {
        for (Algorithm algorithm : new Algorithm[] {Algorithm.RING, Algorithm.TREE}) {
            for (long bytes = 8; bytes <= 1L << 30; bytes *= 8) {
                assertThat(choice(settings(prefix + "_ALGO", algorithm.label()), bytes)
                                .algorithm())
                        .isEqualTo(algorithm);
            }
        }
        for (Protocol protocol : Protocol.values()) {
            assertThat(choice(settings(prefix + "_PROTO", protocol.label()), 1 << 20)
                            .protocol())
                    .isEqualTo(protocol);
        }
        assertThat(choice(settings(prefix + "_MIN_NCHANNELS", "7"), 8).channels())
                .isEqualTo(7);
        assertThat(choice(settings(prefix + "_MAX_NCHANNELS", "3"), 1 << 30).channels())
                .isEqualTo(3);
        int usual = choice(settings(prefix + "_NTHREADS", "0"), 256 << 10).channels();
        assertThat(choice(settings(prefix + "_NTHREADS", "64"), 256 << 10).channels())
                .isGreaterThan(usual);
        assertThat(choice(settings(prefix + "_THREAD_THRESHOLDS", "0 0 0 0 0 0"), 64 << 10)
                        .channels())
                .isEqualTo(16);
        assertThat(CrossNic.of(settings(prefix + "_CROSS_NIC", "0"))).isEqualTo(CrossNic.NEVER);
        assertThat(CrossNic.of(settings(prefix + "_CROSS_NIC", "1"))).isEqualTo(CrossNic.ALWAYS);
        assertThat(CrossNic.of(settings(prefix + "_CROSS_NIC", "2"))).isEqualTo(CrossNic.IF_BETTER);
    }

    @ParameterizedTest
    @CsvSource({
        "ALGO, rink, some of ring",
        "PROTO, ll129, some of ll",
        "MIN_NCHANNELS, 65, a whole number from 0 to 64",
        "MAX_NCHANNELS, many, a whole number from 0 to 64",
        "NTHREADS, 100, a multiple of 32 from 0 to 1024",
        "NTHREADS, 2048, a multiple of 32 from 0 to 1024",
        "CROSS_NIC, 3, a whole number from 0 to 2",
        "THREAD_THRESHOLDS, 1 2 3 4 5 6 7, up to 6 whole numbers",
    })
    void invalidValuesUnderJcclNamesAreRefused(String name, String value, String expected) {
        assertThatThrownBy(() -> settings("JCCL_" + name, value))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("JCCL_" + name)
                .hasMessageContaining(value)
                .hasMessageContaining(expected);
    }
}
