package io.jccl.init;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.BootstrapException;
import io.jccl.CommunicatorConfig;
import io.jccl.config.Settings;
import io.jccl.device.HostIdentity;
import io.jccl.planning.MachineSurvey;
import io.jccl.topology.HostRank;
import io.jccl.topology.PeerReach;
import io.jccl.topology.Processors;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests how containers split hosts into isolation domains. */
class PeersTest {

    private static PeerInfo peer(String host, String isolationDomain, String allowed) {
        return new PeerInfo(
                host,
                isolationDomain,
                "p",
                new Processors(2, allowed),
                0,
                Optional.empty(),
                "",
                "00000001",
                "",
                false,
                false);
    }

    /** Returns ranks at places of the form {@code HOST/DOMAIN}. */
    private static Peers map(String... places) {
        List<PeerInfo> peers = new ArrayList<>();
        for (String place : places) {
            String[] parts = place.split("/");
            peers.add(peer(parts[0], parts[1], "3"));
        }
        return new Peers(peers);
    }

    @Test
    void ranksOfAHostThatShareEverythingAreOneIsolationDomain() {
        Peers map = map("a/x", "a/x", "b/y", "a/x");
        assertThat(map.domainOf(0)).isEqualTo("a");
        assertThat(map.ranksOfDomain(3)).containsExactly(0, 1, 3);
        assertThat(map.hasOtherDomains(0)).isTrue();
        assertThat(map.reach()).isSameAs(PeerReach.ALL);
        assertThat(map.notes()).isEmpty();
        assertThat(map("a/x", "a/x").hasOtherDomains(1)).isFalse();
        // Isolation domains of different hosts are not related, even if their names are equal.
        assertThat(map("a/x", "b/x").reach()).isSameAs(PeerReach.ALL);
    }

    @Test
    void eachContainerIsAnIsolationDomain() {
        Peers map = map("a/x", "a/y", "b/y", "a/x");
        assertThat(map.domainOf(0)).isEqualTo(map.domainOf(3)).isNotEqualTo(map.domainOf(1));
        assertThat(map.domainOf(1)).isNotEqualTo(map.domainOf(2));
        assertThat(map.ranksOfDomain(0)).containsExactly(0, 3);
        assertThat(map.ranksOfHost(0)).containsExactly(new HostRank(0, 0), new HostRank(1, 0), new HostRank(3, 0));
        assertThat(map.hasOtherDomains(0)).isTrue();
        assertThat(map.reach().reaches(0, 3)).isTrue();
        assertThat(map.reach().reaches(0, 1)).isFalse();
        assertThat(map.notes()).singleElement().satisfies(note -> assertThat(note)
                .contains("host=a", "2 isolation domains", "x=[0, 3]", "y=[1]", "--network=host"));
    }

    @Test
    void domainsOfAHostShareItsProcessors() {
        List<PeerInfo> peers = List.of(
                peer("a", "x", "3"),
                peer("a", "x", "c"),
                peer("a", "x", "30"),
                peer("a", "y", "c0"),
                peer("b", "x", "3"));
        Peers map = new Peers(peers);
        assertThat(map.coresOfHost(0)).isEqualTo(8);
        assertThat(map.coresOfDomain(0)).isEqualTo(6);
        assertThat(map.coresOfDomain(3)).isEqualTo(2);
        assertThat(map.coresOfDomain(4)).isEqualTo(2);
        List<PeerInfo> oversubscribed = new ArrayList<>();
        for (int rank = 0; rank < 9; rank++) {
            oversubscribed.add(peer("a", "e" + rank, "3"));
        }
        assertThat(new Peers(oversubscribed).coresOfDomain(4)).isEqualTo(1);
        assertThat(map.domainsPerCore()).isEqualTo(1);
        assertThat(new Peers(oversubscribed).domainsPerCore()).isEqualTo(4.5);
    }

    @Test
    void ranksThatAreBoundToPartsOfAHostShareOnlyTheProcessorsOfTheirPart() {
        Peers map = new Peers(List.of(
                peer("a", "x", "3"),
                peer("a", "y", "3"),
                peer("a", "x", "4"),
                peer("b", "x", "3"),
                peer("a", "x", "1")));
        assertThat(map.processorsSharedWith(0))
                .containsExactly(
                        map.get(0).processors(),
                        map.get(1).processors(),
                        map.get(4).processors());
        assertThat(map.processorsSharedWith(2)).containsExactly(map.get(2).processors());
        assertThat(map.processorsSharedWith(3)).containsExactly(map.get(3).processors());
    }

    @Test
    void peerInfoIsDecodedAsItWasEncoded() {
        PeerInfo mine = peer("host", HostIdentity.isolationDomain(), "ff");
        byte[] bytes = mine.encode();
        assertThat(PeerInfo.decode(3, bytes)).isEqualTo(mine);
        assertThatThrownBy(() -> PeerInfo.decode(3, Arrays.copyOf(bytes, bytes.length - 1)))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("rank=3");
        assertThat(HostIdentity.isolationDomain())
                .isEqualTo(HostIdentity.isolationDomain())
                .matches("network namespace net:\\[\\d+], user \\d+");
    }

    /**
     * A topology file can name all ranks of a host. Each container's ranks still find channels among themselves only.
     */
    @Test
    void aSplitHostIsSearchedDomainByDomain(@TempDir Path folder) throws Exception {
        StringBuilder xml = new StringBuilder("<system version='1'><cpu numaid='0'>");
        for (int rank = 0; rank < 4; rank++) {
            xml.append("<host rank='").append(rank).append("'/>");
        }
        xml.append("<nic><net name='eth0' dev='0' speed='25000'/></nic></cpu></system>");
        Path file = Files.writeString(folder.resolve("host.xml"), xml);
        for (Map<String, String> environment :
                List.of(Map.<String, String>of(), Map.of("JCCL_TOPO_FILE", file.toString()))) {
            Settings settings = Settings.load(CommunicatorConfig.defaults(), name -> null, environment);
            Peers map = map("a/x", "a/y", "a/x", "a/y");
            for (int rank = 0; rank < 4; rank++) {
                MachineSurvey found = Surveys.host(settings, rank, map, Optional.empty(), Optional.empty())
                        .survey();
                assertThat(found.channels().hostId()).isEqualTo(map.domainOf(rank));
                assertThat(found.channels().rings().orders()).allSatisfy(order -> assertThat(order)
                        .containsExactlyInAnyOrderElementsOf(rankParity(order.get(0))));
                assertThat(found.channels().rings().orders().get(0).get(0) % 2).isEqualTo(rank % 2);
            }
            MachineSurvey together = Surveys.host(
                            settings, 1, map("a/x", "a/x", "a/x", "a/x"), Optional.empty(), Optional.empty())
                    .survey();
            assertThat(together.channels().rings().orders().get(0)).containsExactlyInAnyOrder(0, 1, 2, 3);
        }
    }

    private static List<Integer> rankParity(int rank) {
        return rank % 2 == 0 ? List.of(0, 2) : List.of(1, 3);
    }
}
