/**
 * Describes the hardware of a host: detects it, reads and writes it as XML, builds the graph of its nodes and links,
 * and finds the paths between them.
 *
 * <pre>
 *  nvml ──ManagementLibrary─┐
 * sysfs ──SysfsDetector──▶ XmlElement ◀──TopologyXmlReader/Writer──▶ file
 *                              │ GraphBuilder
 *                              ▼
 *                          Topology ──PathFinder──▶ NodePaths ──Trimmer──▶ Topology
 * </pre>
 */
package io.jccl.topology;
