package io.jccl.membership;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.BootstrapException;
import io.jccl.UniqueId;
import io.jccl.launch.LaunchRendezvous;
import io.jccl.launch.LauncherEnvironment;
import io.jccl.wire.Handshake;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests where a process that joins looks for ranks, and which secret it proves to them. */
class JobMembersTest {

    private static final Map<String, String> SECRET = Map.of("JCCL_RENDEZVOUS", "a:1/s3cret");

    @TempDir
    Path folder;

    private static List<InetSocketAddress> addresses(JobMembers members) throws IOException {
        return members.locate().addresses();
    }

    @Test
    void addressesOfEveryKindAreRead() throws Exception {
        JobMembers members = JobMembers.parse("127.0.0.1:10, [::1]:11,127.0.0.2:12", SECRET);
        assertThat(addresses(members))
                .containsExactly(
                        new InetSocketAddress("127.0.0.1", 10),
                        new InetSocketAddress("::1", 11),
                        new InetSocketAddress("127.0.0.2", 12));
    }

    /** The host of a rank that has ended may be gone, so that its name no longer resolves. */
    @Test
    void anUnknownHostNameIsLeftOut() throws Exception {
        JobMembers members = JobMembers.parse("no-such-host.invalid:1,127.0.0.1:2", SECRET);
        assertThat(addresses(members)).containsExactly(new InetSocketAddress("127.0.0.1", 2));
        assertThatThrownBy(
                        () -> JobMembers.parse("no-such-host.invalid:1", SECRET).locate())
                .isInstanceOf(IOException.class);
    }

    @ParameterizedTest
    @CsvSource({
        "nowhere, no port",
        "::1:5, an IPv6 address without brackets",
        "'a:1,[::1:5', a bracket is not closed",
        "a:port, the port is not a number",
        "a:70000, the port is not 1 to 65535",
        "',', no address",
        "file:relative, a directory needs an absolute path"
    })
    void anInvalidTextIsQuoted(String text, String why) {
        assertThatThrownBy(() -> JobMembers.parse(text, SECRET))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("members=\"" + text + "\": ")
                .hasMessageContaining(why)
                .hasMessageContaining("expected host:port,host:port,...");
    }

    @Test
    void addressesNeedASecret() {
        assertThatThrownBy(() -> JobMembers.parse("a:1", Map.of()))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("JCCL_RENDEZVOUS is not set: set JCCL_RENDEZVOUS=HOST:PORT/SECRET");
        assertThatThrownBy(() -> JobMembers.parse("a:1", Map.of("JCCL_RENDEZVOUS", "file:/x")))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("JCCL_RENDEZVOUS is a file, which has no secret for them");
    }

    /**
     * Launched ranks keep the secret that processes that join derive from the same environment. Ranks that meet by a
     * unique id have another secret.
     */
    @Test
    void processesThatJoinDeriveTheSecretOfTheRanks() throws Exception {
        int port;
        try (ServerSocket free = new ServerSocket(0)) {
            port = free.getLocalPort();
        }
        Map<String, String> environment =
                Map.of("JCCL_RANK", "0", "JCCL_SIZE", "1", "JCCL_RENDEZVOUS", "127.0.0.1:" + port + "/s3cret");
        byte[] key = JobMembers.parse("127.0.0.1:1", environment).locate().secret();
        for (int number = 0; number < 2; number++) {
            try (Bootstrap launched =
                    Bootstrap.join(LauncherEnvironment.detect(environment), number, Ranks.options())) {
                assertThat(launched.memberId().secret()).isEqualTo(key);
                MemberFile.write(MemberFile.of(folder, 0), launched);
                assertThat(JobMembers.parse("file:" + folder, Map.of()).locate().secret())
                        .isEqualTo(key);
                assertThat(MemberFile.describe(MemberFile.of(folder, 0))).contains("rank 0 of 1 in generation 0");
            }
        }
        UniqueId id = Bootstrap.createId(Ranks.options());
        try (Bootstrap only = Bootstrap.join(id, 0, 1, Ranks.options())) {
            assertThat(JobMembers.of(id, List.of("127.0.0.1:1")).locate().secret())
                    .isEqualTo(only.memberId().secret())
                    .isNotEqualTo(key)
                    .isNotEqualTo(id.secret());
        }
    }

    @Test
    void filesOfAnotherJobAndInvalidFilesAreLeftOut() throws Exception {
        JobMembers members = JobMembers.parse("file://" + folder, Map.of());
        assertThatThrownBy(members::locate).hasMessageContaining("no rank has written its file yet");
        byte[] key = Handshake.randomBytes(UniqueId.SECRET_BYTES);
        write("member-0", key, 10, 3000);
        write("member-1", key, 11, 4000);
        write("member-2", Handshake.randomBytes(UniqueId.SECRET_BYTES), 12, 2000);
        Files.writeString(folder.resolve("member-3.new-77"), "jccl1:half");
        Files.writeString(folder.resolve("member-4"), "garbage");
        assertThat(addresses(members))
                .extracting(InetSocketAddress::getPort)
                .as("the newest first")
                .containsExactly(11, 10);
        Files.delete(folder.resolve("member-0"));
        assertThat(addresses(members)).extracting(InetSocketAddress::getPort).containsExactly(11);
        Files.setPosixFilePermissions(folder.resolve("member-1"), PosixFilePermissions.fromString("rw-rw-rw-"));
        assertThat(addresses(members)).extracting(InetSocketAddress::getPort).containsExactly(12);
    }

    private void write(String name, byte[] key, int port, long time) throws IOException {
        Path file = folder.resolve(name);
        LaunchRendezvous.write(
                file,
                UniqueId.of(List.of(new InetSocketAddress("127.0.0.1", port)), key)
                        .toText());
        Files.setLastModifiedTime(file, FileTime.fromMillis(time));
    }
}
