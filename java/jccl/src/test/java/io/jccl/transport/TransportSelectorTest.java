package io.jccl.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.PeerTransport;
import io.jccl.TransportException;
import io.jccl.TransportKind;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Tests which transport is chosen and for which reason, and how both ends agree on one transport. */
class TransportSelectorTest {

    private static final PeerIdentity SELF = peer(0, "a", "p1");

    private static PeerIdentity peer(int rank, String host, String process) {
        return new PeerIdentity(rank, host, process, new byte[0]);
    }

    private static TransportSelector selector(Optional<TransportKind> forced, Set<TransportKind> broken) {
        return new TransportSelector(
                SELF,
                forced,
                Map.of(TransportKind.PLUGIN, "there is none"),
                Set.of(TransportKind.PLUGIN),
                (kind, peer) -> broken.contains(kind) ? Optional.of("it is broken") : Optional.empty());
    }

    private static TransportSelector selector() {
        return selector(Optional.empty(), Set.of(TransportKind.IB));
    }

    @Test
    void theFastestTransportThatReachesThePeerIsChosen() {
        assertThat(selector().select(peer(1, "a", "p1")))
                .isEqualTo(new PeerTransport(1, TransportKind.P2P, "same process"));
        assertThat(selector().select(peer(2, "a", "p2")))
                .isEqualTo(new PeerTransport(2, TransportKind.SHM, "no p2p: another process; same host"));
        assertThat(selector().select(peer(3, "b", "p3")))
                .isEqualTo(new PeerTransport(
                        3,
                        TransportKind.SOCKET,
                        "no p2p: another host; no shm: another host; no ib: it is broken; reachable by network"));
        assertThat(selector(Optional.empty(), Set.of()).select(peer(3, "b", "p3")))
                .isEqualTo(new PeerTransport(
                        3,
                        TransportKind.IB,
                        "no p2p: another host; no shm: another host; reachable by InfiniBand verbs"));
    }

    @Test
    void threadsOfDifferentSimulatedHostsUseTheNetwork() {
        assertThat(selector().select(peer(1, "b", "p1")).kind()).isEqualTo(TransportKind.SOCKET);
    }

    @Test
    void anObstacleIsTheReasonForTheNextTransport() {
        assertThat(selector(Optional.empty(), Set.of(TransportKind.SHM, TransportKind.IB))
                        .select(peer(2, "a", "p2")))
                .isEqualTo(new PeerTransport(
                        2,
                        TransportKind.SOCKET,
                        "no p2p: another process; no shm: it is broken; no ib: it is broken; reachable by network"));
    }

    @Test
    void aDisabledTransportIsNotChosen() {
        TransportSelector selector = new TransportSelector(
                SELF,
                Optional.empty(),
                Map.of(TransportKind.P2P, "JCCL_P2P_DISABLE is set"),
                Set.of(),
                (kind, peer) -> Optional.empty());
        assertThat(selector.select(peer(1, "a", "p1")))
                .isEqualTo(new PeerTransport(1, TransportKind.SHM, "no p2p: JCCL_P2P_DISABLE is set; same host"));
    }

    @Test
    void aForcedTransportIsChosenOrCausesAnError() {
        assertThat(selector(Optional.of(TransportKind.SOCKET), Set.of()).select(peer(1, "a", "p1")))
                .isEqualTo(new PeerTransport(1, TransportKind.SOCKET, "forced by a setting"));
        assertThatThrownBy(
                        () -> selector(Optional.of(TransportKind.P2P), Set.of()).select(peer(1, "a", "p2")))
                .isInstanceOf(TransportException.class)
                .hasMessage("JCCL_TRANSPORT=p2p rank=0 peer=1: it cannot reach the peer: another process; unset "
                        + "JCCL_TRANSPORT");
    }

    @Test
    void allReasonsAreReportedIfNoTransportReachesThePeer() {
        assertThatThrownBy(() -> selector(Optional.empty(), Set.of(TransportKind.SOCKET, TransportKind.IB))
                        .select(peer(1, "b", "p")))
                .isInstanceOf(TransportException.class)
                .hasMessage("rank=0 peer=1: no transport reaches the peer: no p2p: another host; no shm: another host; "
                        + "no ib: it is broken; no socket: it is broken");
    }

    @Test
    void theSlowerChoiceOfTheTwoEndsWins() {
        List<PeerTransport> mine = List.of(
                new PeerTransport(1, TransportKind.SHM, "same host"), new PeerTransport(2, TransportKind.SHM, "x"));
        byte[] one = sent(4, 0, 1); // rank 1 can only use sockets to rank 0
        byte[] two = sent(1, 1, 0);
        assertThat(TransportSelector.agree(0, mine, List.of(TransportSelector.encode(3, mine), one, two)))
                .containsExactly(
                        new PeerTransport(1, TransportKind.SOCKET, "the peer cannot use shm to this rank"),
                        new PeerTransport(2, TransportKind.SHM, "x"));
    }

    @Test
    void oneNetworkServesTheWholeCommunicator() {
        List<PeerTransport> mine =
                List.of(new PeerTransport(1, TransportKind.IB, "x"), new PeerTransport(2, TransportKind.IB, "x"));
        byte[] one = sent(3, 0, 4); // ranks 1 and 2 cannot use verbs to each other
        byte[] two = sent(3, 4, 0);
        String why = "no ib: rank 1 cannot use it to rank 2, and a communicator uses one network";
        assertThat(TransportSelector.agree(0, mine, List.of(TransportSelector.encode(3, mine), one, two)))
                .containsExactly(
                        new PeerTransport(1, TransportKind.SOCKET, why),
                        new PeerTransport(2, TransportKind.SOCKET, why));
        one = sent(3, 0, 3);
        two = sent(3, 3, 0);
        assertThat(TransportSelector.agree(0, mine, List.of(TransportSelector.encode(3, mine), one, two)))
                .isEqualTo(mine);
    }

    @Test
    void aPluginIsPreferredToOtherNetworks() {
        TransportSelector selector =
                new TransportSelector(SELF, Optional.empty(), Map.of(), Set.of(), (kind, peer) -> Optional.empty());
        assertThat(selector.select(peer(3, "b", "p3")))
                .isEqualTo(new PeerTransport(
                        3,
                        TransportKind.PLUGIN,
                        "no p2p: another host; no shm: another host; reachable by a network plug-in"));
        assertThat(TransportMap.describe(
                        0, List.of(new PeerTransport(1, TransportKind.PLUGIN, "")), List.of(), "AWS Libfabric"))
                .isEqualTo("rank 0: plugin to {1} by AWS Libfabric");
    }

    @Test
    void aMissingNetworkIsNoReasonIfItWasNotExpected() {
        TransportSelector selector = new TransportSelector(
                SELF,
                Optional.empty(),
                Map.of(),
                Set.of(TransportKind.PLUGIN, TransportKind.IB),
                (kind, peer) -> kind == TransportKind.SOCKET
                        ? Optional.empty()
                        : Optional.of("this host has no adapter for InfiniBand verbs"));
        assertThat(selector.select(peer(3, "b", "p3")).reason())
                .isEqualTo("no p2p: another host; no shm: another host; reachable by network");
    }

    @Test
    void aPluginThatWasAskedForAndIsMissingIsAReason() {
        TransportSelector selector = new TransportSelector(
                SELF,
                Optional.empty(),
                Map.of(TransportKind.PLUGIN, "it has no devices"),
                Set.of(),
                (kind, peer) -> Optional.empty());
        assertThat(selector.select(peer(3, "b", "p3")).reason())
                .isEqualTo("no p2p: another host; no shm: another host; no plugin: it has no devices; "
                        + "reachable by InfiniBand verbs");
        assertThatThrownBy(() ->
                        selector(Optional.of(TransportKind.PLUGIN), Set.of()).select(peer(1, "b", "p")))
                .hasMessage("JCCL_TRANSPORT=plugin rank=0 peer=1: it cannot reach the peer: there is none; unset "
                        + "JCCL_TRANSPORT");
    }

    @Test
    void allRanksUseSocketsIfTwoNeedAnotherNetworkThanTwoOthers() {
        List<PeerTransport> mine = List.of(
                new PeerTransport(1, TransportKind.PLUGIN, "x"), new PeerTransport(2, TransportKind.PLUGIN, "x"));
        byte[] one = sent(2, 0, 3); // ranks 1 and 2 use verbs
        byte[] two = sent(2, 3, 0);
        String why = "no plugin: rank 1 cannot use it to rank 2, and a communicator uses one network";
        assertThat(TransportSelector.agree(0, mine, List.of(TransportSelector.encode(3, mine), one, two)))
                .containsExactly(
                        new PeerTransport(1, TransportKind.SOCKET, why),
                        new PeerTransport(2, TransportKind.SOCKET, why));
        one = sent(2, 0, 2);
        two = sent(2, 2, 0);
        assertThat(TransportSelector.agree(0, mine, List.of(TransportSelector.encode(3, mine), one, two)))
                .isEqualTo(mine);
    }

    @Test
    void theMapGroupsPeersByTransportAndNamesTheInterfaceOfSockets() throws Exception {
        List<PeerTransport> transports = List.of(
                new PeerTransport(1, TransportKind.SHM, ""),
                new PeerTransport(2, TransportKind.SOCKET, ""),
                new PeerTransport(3, TransportKind.SOCKET, ""));
        InetAddress nobodys = InetAddress.getByAddress(new byte[] {(byte) 192, 0, 2, 1});
        InetAddress nobodysNext = InetAddress.getByAddress(new byte[] {(byte) 198, 51, 100, 7});
        assertThat(TransportMap.describe(0, transports, List.of(nobodys, nobodysNext), ""))
                .isEqualTo("rank 0: shm to {1}, socket to {2,3} by 192.0.2.1 and 198.51.100.7");
        InetAddress loopback = InetAddress.getByAddress(new byte[] {127, 0, 0, 1});
        assertThat(TransportMap.describe(0, transports, List.of(loopback), ""))
                .isEqualTo("rank 0: shm to {1}, socket to {2,3} by lo (127.0.0.1)");
        InetAddress secondLoopback = InetAddress.getByAddress(new byte[] {127, 0, 0, 1});
        assertThat(TransportMap.describe(0, transports, List.of(loopback, nobodys, secondLoopback), ""))
                .isEqualTo("rank 0: shm to {1}, socket to {2,3} by lo (127.0.0.1, 127.0.0.1) and 192.0.2.1");
        assertThat(TransportMap.describe(0, transports.subList(0, 1), List.of(loopback), ""))
                .isEqualTo("rank 0: shm to {1}");
        assertThat(TransportMap.describe(0, List.of(), List.of(loopback), "")).isEqualTo("rank 0: alone");
    }

    @Test
    void allRanksPredictByTheSlowestTransportInsideAHost() {
        byte[] p2p = sent(0, 0, 4, 4);
        byte[] shm = sent(4, 4, 0, 1);
        List<List<Integer>> hosts = List.of(List.of(0, 1), List.of(2, 3));
        List<byte[]> all = new ArrayList<>(List.of(p2p, p2p.clone(), shm, shm.clone()));
        assertThat(TransportSelector.slowestInside(all, hosts)).isEqualTo(TransportKind.SHM);
        assertThat(TransportSelector.slowestInside(all, List.of(List.of(0, 1), List.of(2), List.of(3))))
                .isEqualTo(TransportKind.P2P);
        all.set(0, sent(0, 4, 4, 4)); // one end cannot share memory
        assertThat(TransportSelector.slowestInside(all, hosts)).isEqualTo(TransportKind.SOCKET);
        all.get(0)[0] = 7;
        assertThatThrownBy(() -> TransportSelector.slowestInside(all, hosts))
                .isInstanceOf(TransportException.class)
                .hasMessageContaining("peer=0: sent transports that make no sense");
        for (byte[] wrong :
                List.of(new byte[3], new byte[0], sent(0, 0, 2), sent(0, 0, 2, 2, 2), new byte[] {0, 0, 4, 0})) {
            all.set(0, wrong);
            assertThatThrownBy(() -> TransportSelector.slowestInside(all, hosts))
                    .hasMessageContaining("length=" + wrong.length);
        }
    }

    /** Returns the bytes that a rank sends if it has chosen these kinds of transport, in the order of its peers. */
    private static byte[] sent(int... kinds) {
        List<PeerTransport> choices = new ArrayList<>();
        for (int peer = 0; peer < kinds.length; peer++) {
            choices.add(new PeerTransport(peer, TransportKind.values()[kinds[peer]], ""));
        }
        return TransportSelector.encode(kinds.length, choices);
    }

    @Test
    void theBytesThatARankSendsStayFewIfManyChoicesAreEqual() {
        int size = 70_000;
        List<PeerTransport> mine = new ArrayList<>();
        for (int peer = 1; peer < size; peer++) {
            mine.add(new PeerTransport(peer, peer < 8 ? TransportKind.SHM : TransportKind.SOCKET, "because"));
        }
        byte[] sent = TransportSelector.encode(size, mine);
        assertThat(sent).hasSize(3 * 5); // three runs of equal choices: itself, its host, the others
        List<byte[]> all = new ArrayList<>(Collections.nCopies(size, sent));
        assertThat(TransportSelector.slowestInside(all, List.of(List.of(0, 7)))).isEqualTo(TransportKind.SHM);
    }

    @Test
    void socketsOnTheSameHostAreDescribedWithTheReason() {
        List<PeerTransport> transports = List.of(
                new PeerTransport(1, TransportKind.SHM, "same host"),
                new PeerTransport(2, TransportKind.SOCKET, "no shm: another user; reachable by network"),
                new PeerTransport(3, TransportKind.SOCKET, "no shm: another user; reachable by network"),
                new PeerTransport(4, TransportKind.SOCKET, "no shm: another host; reachable by network"));
        assertThat(TransportMap.detours(0, transports, peer -> peer < 4))
                .containsExactly("rank 0: socket to {2,3} although on the same host: no shm: another user; "
                        + "reachable by network");
        assertThat(TransportMap.detours(0, transports, peer -> false)).isEmpty();
    }
}
