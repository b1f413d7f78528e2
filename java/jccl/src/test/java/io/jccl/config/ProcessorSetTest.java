package io.jccl.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.CommunicatorConfig;
import java.math.BigInteger;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ProcessorSetTest {

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "0 | 1 | 0",
                "0-3,8 | 10f | 0-3,8",
                "8 , 0-1,2-3 | 10f | 0-3,8",
                "3,1 | a | 1,3",
                "0x10f | 10f | 0-3,8",
                "0XFF | ff | 0-7",
                "64-65 | 30000000000000000 | 64-65"
            })
    void listsAndMasksAreParsedAsSets(String text, String mask, String list) {
        assertThat(ProcessorSet.parse(text)).isEqualTo(new BigInteger(mask, 16));
        assertThat(ProcessorSet.format(new BigInteger(mask, 16))).isEqualTo(list);
    }

    @Test
    void theLastProcessorIs8191() {
        assertThat(ProcessorSet.format(ProcessorSet.parse("0-8191"))).isEqualTo("0-8191");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"all", "3-1", "0,", ",0", "-1", "0-", "0--1", "8192", "0-99999", "0x", "0xg", "0x0", "1 2", "0;1"
            })
    void aTextThatIsNoSetIsRefusedWithAnExample(String text) {
        assertThatThrownBy(() ->
                        Settings.load(CommunicatorConfig.defaults(), name -> null, Map.of("JCCL_CPU_AFFINITY", text)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("JCCL_CPU_AFFINITY=\"" + text + "\" (from environment)")
                .hasMessageContaining("0-3,8");
    }
}
