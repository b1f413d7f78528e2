package io.jccl.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.device.GpuInventory;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests hosts made of files, with GPUs that a fake management library reports. */
@Timeout(60)
class GpuDevicesTest {

    @TempDir
    Path root;

    @TempDir
    Path libraries;

    @Test
    void describesGpusThatMeetAtSwitches() {
        SysfsTree tree = new SysfsTree(root).processor("GenuineIntel", 6, 143);
        tree.node(0, "000000ff", "10 21").node(1, "0000ff00", "21 10");
        tree.gpu("pci0000:00/0000:00:01.0/0000:07:00.0", 0).gpu("pci0000:80/0000:80:01.0/0000:87:00.0", 1);
        tree.device("pci0000:80/0000:80:02.0/0000:c1:00.0", "0x068000", 1);
        tree.file("sys/module/nvidia_peermem/refcnt", "0\n");
        XmlElement system = detect(
                """
            gpu 00000000:07:00.0 9 0
            gpu 00000000:87:00.0 9 0
            mig 0 0
            link 0 0 1 2 00000000:C1:00.0
            link 0 1 1 2 00000000:C1:00.0
            link 0 2 0 2 00000000:C1:00.0
            link 1 0 1 2 00000000:C1:00.0
            """);
        assertThat(TopologyXmlWriter.write(system))
                .isEqualTo(
                        """
            <system version="1">
              <cpu numaid="0" affinity="000000ff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
                <pci busid="0000:07:00.0" class="0x030200" vendor="0x10de" device="0x2330" subsystem_vendor="0x10de" subsystem_device="0x16c1" origin="sysfs without link_speed link_width">
                  <gpu dev="0" sm="90" mig="0" gdr="1" origin="nvml; gdr by nvidia_peermem">
                    <nvlink target="0000:c1:00.0" count="2" tclass="0x068000"/>
                  </gpu>
                </pci>
              </cpu>
              <cpu numaid="1" affinity="0000ff00" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
                <pci busid="0000:87:00.0" class="0x030200" vendor="0x10de" device="0x2330" subsystem_vendor="0x10de" subsystem_device="0x16c1" origin="sysfs without link_speed link_width">
                  <gpu dev="1" sm="90" gdr="1" origin="nvml; gdr by nvidia_peermem">
                    <nvlink target="0000:c1:00.0" count="1" tclass="0x068000"/>
                  </gpu>
                </pci>
              </cpu>
            </system>
            """);
        assertThat(GraphBuilder.build(system).find("NVS/0")).isPresent();
    }

    @Test
    void describesGpusWithLinksToEachOtherAndToTheirProcessors() {
        SysfsTree tree = new SysfsTree(root).node(0, "ff", "10").gpu("pci0009:00/0009:01:00.0", 0);
        tree.gpu("pci0019:00/0019:01:00.0", 0);
        XmlElement system = detect(
                """
            gpu 00000009:01:00.0 9 0
            gpu 00000019:01:00.0 9 0
            link 0 0 1 0 00000019:01:00.0
            link 1 3 1 0 00000009:01:00.0
            link 1 4 1 1 00000000:00:00.0
            c2c 0 10 9 45000
            """);
        List<XmlElement> gpus = gpus(system);
        assertThat(children(gpus.get(0)))
                .containsExactly(
                        "<nvlink target=\"0019:01:00.0\" count=\"1\" tclass=\"0x030200\"/>",
                        "<c2c bw=\"45000\" count=\"9\"/>");
        assertThat(children(gpus.get(1)))
                .containsExactly(
                        "<nvlink target=\"0009:01:00.0\" count=\"1\" tclass=\"0x030200\"/>",
                        "<nvlink target=\"0000:00:00.0\" count=\"1\" tclass=\"0x068001\" origin=\"tclass by nvml\"/>");
        assertThat(gpus.get(0).text("gdr")).contains("0");
    }

    @Test
    void aLinkWhoseOtherEndIsNotVisibleIsAssumedToLeadToASwitchAndMarked() {
        new SysfsTree(root).gpu("pci0000:00/0000:00:05.0", 0);
        XmlElement gpu = gpus(detect("gpu 00000000:00:05.0 8 0\nlink 0 0 1 255 nonsense\nlink 0 7 1 255 nonsense\n"))
                .get(0);
        assertThat(children(gpu))
                .containsExactly("<nvlink target=\"ffff:ff:ff.f\" count=\"2\" tclass=\"0x068000\""
                        + " origin=\"tclass assumed: the other end is not visible here\"/>");
    }

    @Test
    void gpusThatCannotReachEachOtherAreListed() {
        XmlElement system = detect(
                """
            gpu 00000000:05:00.0 8 9
            gpu 00000000:06:00.0 8 9
            gpu 00000000:07:00.0 8 9
            p2p 0 1 5
            p2p 0 2 1
            """);
        List<XmlElement> gpus = gpus(system);
        assertThat(gpus.get(0).text("nop2p")).contains("0000:06:00.0 0000:07:00.0");
        assertThat(gpus.get(1).text("nop2p")).contains("0000:05:00.0");
        assertThat(TopologyXmlReader.read(TopologyXmlWriter.write(system))).isEqualTo(system);
    }

    @Test
    void aGpuThatTheKernelHidesIsPlacedAtTheFirstCpu() {
        XmlElement pci = detect("gpu 00000000:05:00.0 12 0\n")
                .children()
                .get(0)
                .children(ElementType.PCI)
                .get(0);
        assertThat(pci.text("busid")).contains("0000:05:00.0");
        assertThat(pci.text("origin").orElseThrow())
                .startsWith("sysfs without class vendor")
                .endsWith("numa_node");
        assertThat(pci.children().get(0).text("sm")).contains("120");
    }

    @Test
    void aGpuThatOnlyTheKernelReportsIsNotUsableByThisProcess() {
        new SysfsTree(root).gpu("pci0000:00/0000:00:05.0", 0).gpu("pci0000:00/0000:00:06.0", 0);
        List<XmlElement> gpus = gpus(detect("gpu 00000000:00:06.0 8 6\n"));
        assertThat(gpus.get(0).text("dev")).contains("0");
        assertThat(gpus.get(1).text("dev")).contains("-1");
        assertThat(gpus.get(1).text("origin")).contains("sysfs; nvml does not give it to this process");
    }

    @Test
    void gpusAreReadFromTheKernelIfNoLibraryAnswers() {
        SysfsTree tree = new SysfsTree(root).gpu("pci0000:00/0000:00:01.0/0000:01:00.0", 0);
        tree.device("pci0000:00/0000:00:02.0", "0x030000", 0);
        GpuInventory failed = FakeNvml.emulate(libraries, "gpu 00000000:01:00.0 8 0\nfail nvmlInit_v2 9\n");
        assertThat(failed.available()).isFalse();
        assertThat(failed.remarks()).containsExactly("nvmlInit_v2: code=9 (Driver Not Loaded)");
        XmlElement system = new SysfsDetector(root, "amd64", failed).detect(List.of());
        assertThat(gpus(system)).hasSize(1);
        assertThat(gpus(system).get(0).text("origin")).contains("sysfs without sm nvlink c2c gdr");
        assertThat(GraphBuilder.build(system).find("DEV/0000:01:00.0")).isPresent();
    }

    @Test
    void openDriversOnNewKernelsAllowGpuDirectByDmaBuf() {
        SysfsTree tree = new SysfsTree(root)
                .file("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.1\n");
        tree.file("proc/sys/kernel/osrelease", "5.11.0-generic\n");
        assertThat(gpus(detect("gpu 00000000:05:00.0 9 0\n")).get(0).text("gdr"))
                .contains("0");
        tree.file("proc/sys/kernel/osrelease", "6.8.0-31-generic\n");
        XmlElement gpu = gpus(detect("gpu 00000000:05:00.0 9 0\n")).get(0);
        assertThat(gpu.text("gdr")).contains("1");
        assertThat(gpu.text("origin")).contains("nvml; gdr by dma-buf");
    }

    @Test
    void settingsChooseTheLibrary() {
        assertThat(FakeNvml.ask("off").remarks()).containsExactly("JCCL_NVML_LIBRARY=off");
        GpuInventory missing = FakeNvml.ask("/nowhere/libnvidia-ml.so.1");
        assertThat(missing.available()).isFalse();
        assertThat(missing.remarks()).singleElement().asString().contains("cannot be loaded: /nowhere");
        assertThat(FakeNvml.ask("libm.so.6").remarks())
                .singleElement()
                .asString()
                .contains("is no management library");
    }

    private XmlElement detect(String script) {
        GpuInventory inventory = FakeNvml.emulate(libraries, script);
        assertThat(inventory.available()).isTrue();
        return new SysfsDetector(root, "amd64", inventory).detect(List.of());
    }

    private static List<XmlElement> gpus(XmlElement system) {
        return system.children().stream()
                .flatMap(cpu -> cpu.children(ElementType.PCI).stream())
                .flatMap(pci -> pci.children(ElementType.GPU).stream())
                .toList();
    }

    private static List<String> children(XmlElement gpu) {
        return gpu.children().stream()
                .map(child -> TopologyXmlWriter.write(child).strip())
                .toList();
    }
}
