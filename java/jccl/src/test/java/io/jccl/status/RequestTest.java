package io.jccl.status;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.wire.WireException;
import io.jccl.wire.WireWriter;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the wire format: other versions are refused, and corrupt bytes are read or refused. */
class RequestTest {

    private static final Request REQUEST = new Request(Request.Kind.JOB, "3f2a91c0", 812, "/tmp/dumps");

    @Test
    void aRequestIsReadAsItWasWritten() {
        assertThat(Request.decode(REQUEST.encode())).isEqualTo(REQUEST);
    }

    @Test
    void anotherVersionIsRefusedAndNamed() {
        byte[] other = new WireWriter().text("format 99, build abc", 200).u8(7).toBytes();
        assertThatThrownBy(() -> Request.decode(other))
                .isInstanceOf(Request.OtherVersionException.class)
                .hasMessageContaining("format 99, build abc")
                .hasMessageContaining(Request.version())
                .hasMessageContaining("use the jccl command of the job's own version");
        assertThatThrownBy(() -> Answer.decode(Answer.refusal("because")))
                .isInstanceOf(Answer.RefusedException.class)
                .hasMessage("because");
    }

    @Test
    void corruptRequestsAreReadOrRefusedAndRandomAnswersAreRefused() {
        Random random = new Random(1);
        for (int i = 0; i < 20_000; i++) {
            byte[] bytes = REQUEST.encode();
            for (int changes = 1 + random.nextInt(3); changes > 0; changes--) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            }
            try {
                Request.decode(bytes);
            } catch (WireException | Request.OtherVersionException expected) {
                continue;
            }
        }
        for (int i = 0; i < 20_000; i++) {
            byte[] bytes = new byte[random.nextInt(200)];
            random.nextBytes(bytes);
            if (bytes.length > 0) {
                bytes[0] = 0;
            }
            assertThatThrownBy(() -> Answer.decode(bytes)).isInstanceOf(WireException.class);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "1 (java) S 1 1, RUNS",
        "1 (a ) T) R 1 1, RUNS",
        "1 (java) T 1 1, STOPPED",
        "1 (java) t 1 1, STOPPED",
        "1 (java) Z 1 1, ENDED",
        "1 (java, UNKNOWN"
    })
    void theKernelsStateLetterTellsWhetherAProcessIsStopped(String stat, ProcessState state) {
        assertThat(ProcessState.ofStat(stat)).isEqualTo(state);
    }
}
