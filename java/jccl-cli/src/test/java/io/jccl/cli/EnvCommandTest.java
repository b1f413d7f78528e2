package io.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.CommunicatorConfig;
import io.jccl.config.Settings;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EnvCommandTest {

    @Test
    void aSetOfProcessorsIsShownAsAList() {
        Settings settings =
                Settings.load(CommunicatorConfig.defaults(), name -> null, Map.of("JCCL_CPU_AFFINITY", "0x10f"));
        assertThat(EnvCommand.toText(settings, true, 200)).contains("JCCL_CPU_AFFINITY", " 0-3,8 ");
        assertThat(EnvCommand.toJson(settings, true)).contains("\"value\" : \"0-3,8\"");
    }

    @Test
    void textSaysThatEverySettingHasItsDefaultIfNoneIsSet() {
        Settings settings = Settings.load(CommunicatorConfig.defaults(), name -> null, Map.of());
        assertThat(EnvCommand.toText(settings, true, 80)).isEqualTo("Every setting has its default.\n");
        assertThat(EnvCommand.toText(settings, false, 80)).contains("JCCL_BUFFSIZE");
    }

    @ParameterizedTest
    @CsvSource({
        "node1:2900/hush, node1:2900/…",
        "[fe80::1]:2900/hush/more, [fe80::1]:2900/…",
        "jccl1:hush, jccl1:…",
        "node1:2900, node1:2900",
        "file:/tmp/here, file:/tmp/here"
    })
    void theSecretOfARendezvousIsNotShown(String rendezvous, String shown) {
        Settings settings =
                Settings.load(CommunicatorConfig.defaults(), name -> null, Map.of("JCCL_RENDEZVOUS", rendezvous));
        assertThat(EnvCommand.toText(settings, true, 200))
                .contains(" " + shown + " ")
                .doesNotContain("hush");
        assertThat(EnvCommand.toJson(settings, true))
                .contains("\"" + shown + "\"")
                .doesNotContain("hush");
    }
}
