package io.jccl.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.BootstrapException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import org.junit.jupiter.api.Test;

class ServerTest {

    private static final String OTHER_JOB = "is another job using the port?";

    @Test
    void portThatIsTakenIsBlamedOnAnotherJob() throws Exception {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            InetSocketAddress address = new InetSocketAddress(taken.getInetAddress(), taken.getLocalPort());
            assertThatThrownBy(() -> Server.listening(address))
                    .isInstanceOf(BootstrapException.class)
                    .hasMessageContaining(OTHER_JOB)
                    .hasMessageContaining("JCCL_RENDEZVOUS");
        }
    }

    @Test
    void addressOfAnotherHostIsNotBlamedOnAnotherJob() {
        assertThatThrownBy(() -> Server.listening(new InetSocketAddress("198.51.100.77", 2900)))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("Cannot assign requested address; this host has no such address")
                .hasMessageNotContaining(OTHER_JOB);
    }

    @Test
    void aPortThatNeedsPrivilegesIsExplainedByTheLowestUnprivilegedPort() {
        assertThat(Server.remedy(new InetSocketAddress(80), new BindException("Permission denied")))
                .contains("net.ipv4.ip_unprivileged_port_start=", "JCCL_RENDEZVOUS")
                .doesNotContain(OTHER_JOB);
    }
}
