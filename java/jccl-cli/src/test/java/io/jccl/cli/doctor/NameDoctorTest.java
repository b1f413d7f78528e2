package io.jccl.cli.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.cli.doctor.Finding.Status;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Tests the doctor's findings about host names that mislead ranks. */
class NameDoctorTest {

    private static InetAddress[] addresses(String... texts) throws UnknownHostException {
        InetAddress[] addresses = new InetAddress[texts.length];
        for (int i = 0; i < texts.length; i++) {
            addresses[i] = InetAddress.getByName(texts[i]);
        }
        return addresses;
    }

    private static void requireWarning(List<Finding> findings, String detail, String remedy) {
        assertThat(findings).singleElement().satisfies(finding -> {
            assertThat(finding.status()).as(finding.toString()).isEqualTo(Status.WARN);
            assertThat(finding.detail()).contains(detail);
            assertThat(finding.remedy()).contains(remedy);
        });
    }

    private static void requireOk(List<Finding> findings, String detail) {
        assertThat(findings).singleElement().satisfies(finding -> {
            assertThat(finding.status()).as(finding.toString()).isEqualTo(Status.OK);
            assertThat(finding.detail()).contains(detail);
        });
    }

    /** Debian's installer writes 127.0.1.1 and the host's name into /etc/hosts. */
    @Test
    void aHostNameWithALoopbackAddressIsAWarning() {
        requireWarning(
                NameChecks.hostName("nodea", name -> addresses("127.0.1.1")),
                "nodea is 127.0.1.1",
                "give nodea in /etc/hosts the address");
        requireOk(
                NameChecks.hostName("nodea", name -> addresses("127.0.1.1", "10.77.0.1")), "nodea is 127.0.1.1 10.77");
    }

    @Test
    void aHostNameThatDoesNotResolveIsAWarning() {
        requireWarning(
                NameChecks.hostName("nodea", name -> {
                    throw new UnknownHostException(name);
                }),
                "own name nodea does not resolve",
                "/etc/hosts");
    }

    @Test
    void aRendezvousWithALoopbackAddressOrNoneIsAWarning() {
        Map<String, String> environment = Map.of("JCCL_RENDEZVOUS", "nodea:2900/hush");
        requireWarning(
                NameChecks.rendezvous(environment, name -> addresses("127.0.1.1")),
                "host=nodea port=2900 is 127.0.1.1 here, which is this host itself",
                "/etc/hosts");
        requireWarning(
                NameChecks.rendezvous(environment, name -> {
                    throw new UnknownHostException(name);
                }),
                "host=nodea port=2900 has no address here",
                "wait until it is known");
        requireOk(NameChecks.rendezvous(environment, name -> addresses("10.77.0.1")), "is 10.77.0.1");
    }

    @Test
    void theLaunchersOwnRendezvousIsExaminedToo() {
        requireWarning(
                NameChecks.rendezvous(
                        Map.of("RANK", "1", "WORLD_SIZE", "2", "MASTER_ADDR", "nodea", "MASTER_PORT", "29500"),
                        name -> addresses("127.0.1.1")),
                "host=nodea port=29500 is 127.0.1.1 here",
                "/etc/hosts");
        requireWarning(
                NameChecks.rendezvous(Map.of("RANK", "1", "WORLD_SIZE", "2"), name -> addresses()),
                "torchrun lacks MASTER_ADDR, MASTER_PORT",
                "set what is missing");
    }

    @Test
    void localhostIsFineAndAMissingRendezvousIsNoFinding() {
        requireOk(
                NameChecks.rendezvous(Map.of("JCCL_RENDEZVOUS", "localhost:2900/s"), name -> addresses("127.0.0.1")),
                "for ranks of this host only");
        assertThat(NameChecks.rendezvous(Map.of(), name -> addresses())).isEmpty();
        assertThat(NameChecks.rendezvous(Map.of("JCCL_RENDEZVOUS", "file:/a/b"), name -> addresses()))
                .isEmpty();
    }
}
