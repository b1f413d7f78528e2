package io.jccl.config;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

/** Tests variables with bytes that Java decodes differently in each locale. */
class EnvironmentVariablesTest {

    private static final byte[] RAW =
            "PATH=/bin\0JCCL_RENDEZVOUS=a:1/schlüssel=x\0LESS=ü\0JCCL_RANK=0\0garbage\0".getBytes(UTF_8);

    @Test
    void aSecretIsTheSameInEveryLocale() {
        Map<String, String> inC = Map.of(
                "PATH",
                "/bin",
                "JCCL_RENDEZVOUS",
                "a:1/schl\ufffd\ufffdssel=x",
                "LESS",
                "\ufffd\ufffd",
                "JCCL_RANK",
                "1");
        Map<String, String> decoded = EnvironmentVariables.decoded(inC, RAW);
        assertThat(decoded)
                .containsEntry("JCCL_RENDEZVOUS", "a:1/schlüssel=x")
                .containsEntry("LESS", "\ufffd\ufffd")
                .containsEntry("JCCL_RANK", "1")
                .hasSize(4);
    }

    @Test
    void variablesThatAreNotInTheMapAreNotAdded() {
        assertThat(EnvironmentVariables.decoded(Map.of("JCCL_DEBUG", "ü"), RAW)).isEqualTo(Map.of("JCCL_DEBUG", "ü"));
    }
}
