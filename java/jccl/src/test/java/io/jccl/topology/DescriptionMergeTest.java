package io.jccl.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests that values missing in a topology file are added from the host, and that values in the file stay. */
class DescriptionMergeTest {

    private static final String FOUND =
            """
            <system version="1">
              <cpu numaid="0" affinity="ff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
                <pci busid="0001:00:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe" link_width="16" origin="sysfs without numa_node">
                  <gpu dev="0" sm="90" gdr="1" nop2p="0002:00:00.0" origin="nvml">
                    <nvlink target="ffff:ff:ff.f" count="18" tclass="0x068000"/>
                  </gpu>
                </pci>
                <pci busid="0101:00:00.0" class="0x020700" vendor="0x15b3" device="0x101e" link_speed="32.0 GT/s PCIe" link_width="16">
                  <nic>
                    <net name="mlx5_0" dev="0" speed="400000" port="1" guid="0x1" gdr="1"/>
                  </nic>
                </pci>
                <pci busid="0102:00:00.0" class="0x060400">
                  <pci busid="0103:00:00.0" class="0x020000">
                    <nic>
                      <net name="eth0" dev="1" speed="100000"/>
                    </nic>
                  </pci>
                </pci>
              </cpu>
            </system>
            """;

    private static XmlElement merge(String given) {
        XmlElement merged = DescriptionMerge.merge(TopologyXmlReader.read(given), TopologyXmlReader.read(FOUND));
        assertThat(TopologyXmlReader.read(TopologyXmlWriter.write(merged))).isEqualTo(merged);
        return merged;
    }

    /** Descriptions from clouds tell where devices are, but not what they are. */
    @Test
    void devicesAreAddedAtThePlacesThatAFileGivesThem() {
        XmlElement merged = merge(
                """
                <system version="1">
                  <cpu numaid="0" affinity="0f" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
                    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
                      <pci busid="0001:00:00.0" class="0x030200" link_speed="" link_width="8"/>
                      <pci busid="0101:00:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16"/>
                    </pci>
                  </cpu>
                </system>
                """);
        XmlElement cpu = merged.children().get(0);
        assertThat(cpu.text("affinity")).contains("0f");
        XmlElement bridge = cpu.children().get(0);
        assertThat(bridge.children())
                .extracting(pci -> pci.text("busid").orElseThrow())
                .containsExactly("0001:00:00.0", "0101:00:00.0");
        XmlElement device = bridge.children().get(0);
        assertThat(device.text("link_width")).contains("8");
        assertThat(device.text("link_speed")).contains("32.0 GT/s PCIe");
        assertThat(device.text("origin")).contains("vendor device link_speed found on this host");
        XmlElement gpu = device.children(ElementType.GPU).get(0);
        assertThat(gpu.text("nop2p")).contains("0002:00:00.0");
        assertThat(gpu.text("origin")).contains("nvml; found on this host");
        assertThat(gpu.children(ElementType.NVLINK)).hasSize(1);
        Topology graph = GraphBuilder.build(merged);
        assertThat(graph.find("NET/0")).isPresent();
        // A device that the file lacks is added where it was found, together with its bridge.
        assertThat(cpu.children().get(1).text("busid")).contains("0102:00:00.0");
        assertThat(graph.find("NET/1")).isPresent();
    }

    @Test
    void valuesOfAFileStayAndNumbersStayDifferent() {
        XmlElement merged = merge(
                """
                <system version="1">
                  <cpu numaid="0">
                    <pci busid="0101:00:00.0" class="0x020700">
                      <nic>
                        <net dev="1" speed="200000" port="1"/>
                      </nic>
                    </pci>
                    <pci busid="0001:00:00.0">
                      <gpu dev="5" sm="80">
                        <nvlink target="0002:00:00.0" count="4" tclass="0x030200"/>
                      </gpu>
                    </pci>
                  </cpu>
                </system>
                """);
        List<XmlElement> devices = merged.children().get(0).children(ElementType.PCI);
        XmlElement net = devices.get(0).children().get(0).children().get(0);
        assertThat(net.attributes())
                .containsEntry("dev", "1")
                .containsEntry("speed", "200000")
                .containsEntry("name", "mlx5_0")
                .containsEntry("guid", "0x1");
        XmlElement gpu = devices.get(1).children(ElementType.GPU).get(0);
        assertThat(gpu.attributes())
                .containsEntry("dev", "5")
                .containsEntry("sm", "80")
                .containsEntry("gdr", "1");
        assertThat(gpu.children(ElementType.NVLINK))
                .extracting(link -> link.integer("count", 0))
                .containsExactly(4);
        Topology graph = GraphBuilder.build(merged);
        // The file uses number 1, so the other device gets the next number.
        assertThat(((Node.Net) graph.node(graph.find("NET/2").orElseThrow())).device())
                .isEqualTo("eth0");
    }

    @Test
    void valuesOfAnotherProcessorOrCardAreNotAdded() {
        XmlElement merged = merge(
                """
                <system version="1">
                  <cpu numaid="0" vendor="AuthenticAMD">
                    <pci busid="0101:00:00.0" vendor="0x15B3" device="0x9999"/>
                    <pci busid="0103:00:00.0" vendor="0x15B3"/>
                  </cpu>
                </system>
                """);
        XmlElement cpu = merged.children().get(0);
        assertThat(cpu.attributes()).doesNotContainKeys("modelid", "familyid", "affinity");
        List<XmlElement> devices = cpu.children(ElementType.PCI);
        assertThat(devices.get(0).children()).isEmpty();
        assertThat(devices.get(1).children(ElementType.NIC)).hasSize(1);
    }

    @Test
    void aNetworkDeviceIsKnownByItsNameWhereverAFilePlacesIt() {
        XmlElement merged = merge(
                """
                <system version="1">
                  <cpu numaid="3">
                    <nic>
                      <net name="eth0" dev="0"/>
                    </nic>
                  </cpu>
                </system>
                """);
        XmlElement net = merged.children().get(0).children().get(0).children().get(0);
        assertThat(net.text("speed")).contains("100000");
        assertThat(merged.children().get(1).children())
                .extracting(pci -> pci.text("busid").orElseThrow())
                .containsExactly("0001:00:00.0", "0101:00:00.0");
        assertThat(merged.children().get(1).text("origin")).contains("found on this host");
    }

    /** Everything that is removed from a description is added again from the host. */
    @Test
    void everyHoleIsFilled() {
        int holes = 0;
        for (String name : List.of("gpu4-nvswitch", "arm-c2c", "gpu2-virtual", "host-2numa", "paths/nvlink-mesh")) {
            XmlElement whole = withoutRanks(TopologyXmlReader.read(DescribedHosts.text(name)));
            for (int seed = 0; seed < 300; seed++) {
                XmlElement damaged = damaged(whole, new SplittableRandom(seed));
                holes += damaged.equals(whole) ? 0 : 1;
                XmlElement merged = DescriptionMerge.merge(damaged, whole);
                assertThat(described(merged)).as(name + " seed " + seed).isEqualTo(described(whole));
            }
        }
        assertThat(holes).isGreaterThan(1000);
    }

    @Test
    void aDescriptionWithoutHolesStaysAsItIs() {
        for (String name : DescribedHosts.NAMES) {
            XmlElement whole = TopologyXmlReader.read(DescribedHosts.text(name));
            XmlElement found = new SysfsDetector(Path.of("/nonexistent"), "amd64").detect(List.of());
            XmlElement withoutNodes = found.withChildren(List.of());
            assertThat(DescriptionMerge.merge(whole, withoutNodes)).isEqualTo(whole);
        }
    }

    @Test
    void aDamagedFileAndARealKernelMakeADescriptionOrAClearError(@TempDir Path root) {
        XmlElement found =
                new SysfsDetector(new SysfsTree(root).unpack("virtual-machine").root(), "amd64").detect(List.of());
        int merged = 0;
        for (int seed = 0; seed < 5_000; seed++) {
            String host = DescribedHosts.text(DescribedHosts.NAMES.get(seed % DescribedHosts.NAMES.size()));
            XmlElement given;
            try {
                given = TopologyXmlReader.read(new ByteArrayInputStream(new Mutations(seed).mutate(host)), "mutation");
            } catch (TopologyException e) {
                continue;
            }
            XmlElement both = DescriptionMerge.merge(given, found);
            assertThat(TopologyXmlReader.read(TopologyXmlWriter.write(both))).isEqualTo(both);
            merged++;
        }
        assertThat(merged).isGreaterThan(500);
    }

    /** Returns the nodes with their links, without their order. */
    private static Map<String, Map<String, Double>> described(XmlElement system) {
        Topology graph = GraphBuilder.build(system);
        Map<String, Map<String, Double>> nodes = new TreeMap<>();
        for (int node = 0; node < graph.size(); node++) {
            Map<String, Double> links = new TreeMap<>();
            graph.links(node)
                    .forEach(link ->
                            links.put(link.type() + " " + graph.node(link.to()).name(), link.bandwidthGBps()));
            nodes.put(graph.node(node).toString(), links);
        }
        return nodes;
    }

    private static XmlElement withoutRanks(XmlElement element) {
        Map<String, String> attributes = new LinkedHashMap<>(element.attributes());
        attributes.remove("rank");
        return new XmlElement(
                element.type(),
                attributes,
                element.children().stream()
                        .filter(child -> child.type() != ElementType.HOST)
                        .map(DescriptionMergeTest::withoutRanks)
                        .toList(),
                0);
    }

    /** Removes some elements and attributes. The attributes that identify a device stay if the device stays. */
    private static XmlElement damaged(XmlElement element, SplittableRandom random) {
        Map<String, String> attributes = new LinkedHashMap<>(element.attributes());
        attributes
                .keySet()
                .removeIf(name -> !List.of("numaid", "busid", "name", "dev", "version", "target", "count", "bw")
                                .contains(name)
                        && element.type() != ElementType.NVLINK
                        && random.nextInt(5) == 0);
        List<XmlElement> children = new ArrayList<>();
        boolean links = random.nextInt(4) > 0;
        for (XmlElement child : element.children()) {
            boolean link = child.type() == ElementType.NVLINK || child.type() == ElementType.C2C;
            if (link ? links : random.nextInt(6) > 0) {
                children.add(damaged(child, random));
            }
        }
        return new XmlElement(element.type(), attributes, children, 0);
    }
}
